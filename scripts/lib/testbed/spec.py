"""What a testbed is: its size, release, profile and addresses, as written to and read from its state folder."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from ipaddress import IPv4Address

from testbed.errors import TestbedError

RELEASES = ("native", "bookworm", "trixie", "forky")
PROFILES = ("plain", "cgroup")
MAX_NODES = 1000
MAX_TESTBEDS = 64
LOGIN = "login"

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
_FIRST_SUBNET = IPv4Address("10.213.0.0")
_SUBNET_SIZE = 1024  # a /22: room for MAX_NODES and the login node
PREFIX_LENGTH = 22
_FIRST_PORT = 17817
_FIRST_ACCOUNTING_PORT = _FIRST_PORT + MAX_TESTBEDS


def checked_name(text: str) -> str:
    """The testbed name `text`, or TestbedError: it becomes a folder, a cluster and a file name."""
    if not _NAME.fullmatch(text):
        raise TestbedError(f"{text!r} is no testbed name: use 1-32 lower-case letters, digits and inner dashes")
    return text


def controller_port(index: int) -> int:
    """Where the slurmctld of testbed `index` listens: each has its own because all share the host's network."""
    return _FIRST_PORT + index


def accounting_port(index: int) -> int:
    """Where the slurmdbd of testbed `index` listens, if it has one."""
    return _FIRST_ACCOUNTING_PORT + index


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One testbed as asked for; `index` tells testbeds on one machine apart (subnet, port, interface names)."""

    name: str
    index: int = 0
    nodes: int = 4
    gpus: int = 8
    cpus: int = 8
    release: str = "native"
    profile: str = "plain"
    settings: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    accounting: bool = False

    @property
    def node_names(self) -> tuple[str, ...]:
        """All node names, node001 first."""
        return tuple(f"node{number:03d}" for number in range(1, self.nodes + 1))

    @property
    def bridge(self) -> str:
        """The host's bridge interface."""
        return f"svb{self.index}"

    @property
    def controller_port(self) -> int:
        """Where slurmctld listens."""
        return controller_port(self.index)

    @property
    def accounting_port(self) -> int:
        """Where slurmdbd listens, if there is one."""
        return accounting_port(self.index)

    @property
    def login_address(self) -> str:
        """The bridge's own address, which is the login node's."""
        return self._address(1)

    def address(self, node: str) -> str:
        """The address of `node`."""
        return self._address(self.number(node) + 1)

    def veth(self, node: str) -> str:
        """The host's end of the node's cable (interface names end at 15 characters)."""
        return f"sv{self.index}n{self.number(node)}"

    def number(self, node: str) -> int:
        """The node's number from 1, or TestbedError naming the nodes there are."""
        if node not in self.node_names:
            raise TestbedError(f"testbed {self.name!r} has no node {node!r}; it has node001 to {self.node_names[-1]}")
        return int(node.removeprefix("node"))

    def _address(self, offset: int) -> str:
        return str(_FIRST_SUBNET + self.index * _SUBNET_SIZE + offset)

    def to_json(self) -> str:
        """The spec as the text of its state file."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """The spec written by `to_json`; what only another version of the testbed knows is left out."""
        known = {field.name for field in fields(cls)}
        found = {name: value for name, value in json.loads(text).items() if name in known}
        return cls(**{**found, "settings": tuple(found["settings"]), "binds": tuple(found["binds"])})


def complaints(spec: Spec) -> Sequence[str]:
    """Everything wrong with `spec`, each as a sentence; empty when it can be built."""
    found = []
    if not 1 <= spec.nodes <= MAX_NODES:
        found.append(f"--nodes {spec.nodes}: use 1 to {MAX_NODES}")
    if not 0 <= spec.gpus <= 64:  # noqa: PLR2004 - no machine has more, and each is a device file
        found.append(f"--gpus {spec.gpus}: use 0 to 64")
    if not 1 <= spec.cpus <= 1024:  # noqa: PLR2004 - beyond any machine; catches typing errors
        found.append(f"--cpus {spec.cpus}: use 1 to 1024")
    found += [f"--set {line}: write Key=Value" for line in spec.settings if "=" not in line]
    found += [f"--bind {path}: use an absolute path" for path in spec.binds if not path.startswith("/")]
    if spec.accounting and spec.release != "native":
        found.append(f"--accounting: use --release native; the root of {spec.release} holds no database")
    return found
