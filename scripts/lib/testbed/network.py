"""The cables: one bridge per testbed, one veth pair per node."""

import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.errors import TestbedError
from testbed.spec import MAX_TESTBEDS, PREFIX_LENGTH, Spec, accounting_port, controller_port

_INTERFACES = Path("/sys/class/net")
_DEADLINE_S = 120


def _ip(lines: Sequence[str], *, force: bool = False) -> None:
    arguments = ["ip", *(["-force"] if force else []), "-batch", "-"]
    done = subprocess.run(
        arguments, input="\n".join([*lines, ""]), capture_output=True, text=True, check=False, timeout=_DEADLINE_S
    )
    if done.returncode and not force:
        raise TestbedError(f"cannot set up the network: {done.stderr.strip()[-400:]}")


def add_bridge(spec: Spec) -> None:
    """Make the bridge; the host, as the login node, has the first address on it."""
    _ip(
        [
            f"link add {spec.bridge} type bridge",
            f"addr add {spec.login_address}/{PREFIX_LENGTH} dev {spec.bridge}",
            f"link set {spec.bridge} up",
        ]
    )


def add_cables(spec: Spec, holders: Mapping[str, int]) -> None:
    """Connect each node's network namespace, held by a process, to the bridge; it sees its end as eth0."""
    lines = []
    for node, pid in holders.items():
        lines.append(f"link add {spec.veth(node)} type veth peer name eth0 netns {pid}")
        lines.append(f"link set {spec.veth(node)} master {spec.bridge} up")
    _ip(lines)


def set_cable(spec: Spec, node: str, *, plugged: bool) -> None:
    """Plug or unplug the node's cable at the bridge's end; its processes live on."""
    _ip([f"link set {spec.veth(node)} {'up' if plugged else 'down'}"])


def is_plugged(spec: Spec, node: str) -> bool:
    """Whether the node's cable is plugged in (false when there is none)."""
    try:
        flags = int((_INTERFACES / spec.veth(node) / "flags").read_text(), 16)
    except FileNotFoundError:
        return False
    return bool(flags & 1)


def remove(index: int) -> None:
    """Delete the bridge and every cable of the testbed with this index; fine when there are none."""
    for _ in range(3):  # a dying namespace may delete a cable while we do: what is left is seen in the next turn
        left = interfaces(index)
        if not left:
            return
        _ip([f"link del {name}" for name in left], force=True)
    if left := interfaces(index):
        raise TestbedError(f"cannot delete the interfaces {', '.join(left)}: try `ip link del NAME`")


def interfaces(index: int) -> list[str]:
    """The host's interfaces that belong to the testbed with this index."""
    return sorted(
        entry.name
        for entry in _INTERFACES.iterdir()
        if entry.name == f"svb{index}" or entry.name.startswith(f"sv{index}n")
    )


def free_index(taken: set[int]) -> int:
    """The lowest index that no testbed has, no interface bears and whose ports are free."""
    for index in range(MAX_TESTBEDS):
        ports = (controller_port(index), accounting_port(index))
        if index not in taken and not interfaces(index) and all(_is_free(port) for port in ports):
            return index
    raise TestbedError(f"{MAX_TESTBEDS} testbeds are up at once; take one down with `scripts/testbed down --name NAME`")


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("", port))
        except OSError:
            return False
    return True
