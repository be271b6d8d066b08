"""The testbed for programs: fixtures, benchmarks and the demo. Everything goes through `scripts/testbed`."""

import json
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed.errors import TestbedError
from testbed.layout import REPOSITORY, Layout
from testbed.spec import checked_name

PROGRAM = REPOSITORY / "scripts" / "testbed"

# The first use of a release makes its root; the first use at all installs packages.
_UP_S = 2400.0
_ACT_S = 180.0
_POLL_S = 0.2


class Testbed:
    """One testbed by name. As a context manager it is taken down at the end; it is `up` that brings it up."""

    __test__ = False  # pytest would otherwise take the name for a test class

    def __init__(self, name: str) -> None:
        self.name = checked_name(name)
        self._layout = Layout(self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.down()

    @property
    def home(self) -> Path:
        """Alice's home, shared by login and all nodes; the host sees it at the same path."""
        return self._layout.home("alice")

    @property
    def slurm_conf(self) -> Path:
        """What SLURM_CONF names."""
        return self._layout.slurm_conf

    @property
    def logs(self) -> Path:
        """The folder with slurmctld.log and one log per node."""
        return self._layout.logs

    def up(
        self,
        *,
        nodes: int = 4,
        gpus: int = 8,
        cpus: int = 8,
        release: str = "native",
        profile: str = "plain",
        settings: Sequence[str] = (),
        binds: Sequence[Path] = (),
        accounting: bool = False,
    ) -> Self:
        """Bring it up (taking away what is left of an earlier one) and return when all nodes are idle.

        `settings` are slurm.conf lines, `binds` folders that the release's root and the nodes see, too;
        with `accounting` there is a real slurmdbd that knows alice and bob.
        """
        sizes = ("--nodes", str(nodes), "--gpus", str(gpus), "--cpus", str(cpus))
        words = [*sizes, "--release", release, "--profile", profile]
        if accounting:
            words.append("--accounting")
        if settings:
            words += ["--set", *settings]
        if binds:
            words += ["--bind", *map(str, binds)]
        self._act("up", *words, deadline_s=_UP_S)
        return self

    def down(self) -> None:
        """Take it away, whole; fine when it is not up."""
        self._act("down")

    def status(self) -> dict[str, Any]:
        """What `scripts/testbed status --json` says."""
        facts: dict[str, Any] = json.loads(self._act("status", "--json"))
        return facts

    def node_states(self) -> dict[str, str]:
        """What Slurm says about each node: `idle`, `mixed`, and so on."""
        return {node["name"]: node["slurm"] for node in self.status()["nodes"]}

    def run_argv(
        self, argv: Sequence[str], *, user: str = "alice", cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> list[str]:
        """The host command that becomes `argv` on the login node, for callers with a way of their own to start it."""
        words = [str(PROGRAM), "run", "--name", self.name, "--user", user]
        if cwd is not None:
            words += ["--cwd", str(cwd)]
        if env:
            words += ["--env", *(f"{key}={value}" for key, value in env.items())]
        return [*words, "--", *argv]

    def run(
        self,
        argv: Sequence[str],
        *,
        user: str = "alice",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        text_in: str = "",
        deadline_s: float = _ACT_S,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """The outcome of a command of an ordinary user on the login node; with `check`, TestbedError if it fails."""
        return _finished(self.run_argv(argv, user=user, cwd=cwd, env=env), text_in, deadline_s, check=check)

    def start(
        self,
        argv: Sequence[str],
        *,
        user: str = "alice",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """The same, running, with pipes for stdin, stdout and stderr; its pid is the command's own."""
        return subprocess.Popen(
            self.run_argv(argv, user=user, cwd=cwd, env=env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def exec(
        self, node: str, argv: Sequence[str], *, deadline_s: float = _ACT_S, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """The outcome of a command run as root on a node; with `check`, TestbedError if it fails."""
        return _finished([str(PROGRAM), "exec", "--name", self.name, node, "--", *argv], "", deadline_s, check=check)

    def kill_node(self, node: str) -> None:
        """SIGKILL every process of the node; `unplug` it before for a loss of power, which nobody is told of."""
        self._act("kill-node", node)

    def unplug(self, node: str) -> None:
        """Pull the node's cable; its processes live on."""
        self._act("unplug", node)

    def plug(self, node: str) -> None:
        """Plug the cable in again."""
        self._act("plug", node)

    def revive(self, node: str) -> None:
        """Boot the node again, cable plugged, and return when it serves Slurm."""
        self._act("revive", node)

    def nodes_idle(self, deadline_s: float, nodes: Collection[str] | None = None) -> None:
        """Return when all nodes (or these) are idle; raises TestbedError with their states after `deadline_s`."""

        def idle(states: Mapping[str, str]) -> bool:
            return all(states.get(node) == "idle" for node in (states if nodes is None else nodes))

        self.wait_states(idle, deadline_s, "all nodes idle")

    def wait_states(self, wanted: Callable[[Mapping[str, str]], bool], deadline_s: float, what: str) -> None:
        """Return when `wanted(node_states())`; raises TestbedError naming `what` and the states after `deadline_s`."""
        until = time.monotonic() + deadline_s
        while not wanted(states := self.node_states()):
            if time.monotonic() > until:
                raise TestbedError(f"not {what} after {deadline_s:.0f} s: {states}")
            time.sleep(_POLL_S)

    def _act(self, command: str, *words: str, deadline_s: float = _ACT_S) -> str:
        argv = [str(PROGRAM), command, "--name", self.name, *words]
        return _finished(argv, "", deadline_s, check=True).stdout


def _finished(argv: Sequence[str], text_in: str, deadline_s: float, *, check: bool) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(argv, input=text_in, capture_output=True, text=True, check=False, timeout=deadline_s)
    except subprocess.TimeoutExpired as exc:
        raise TestbedError(f"{' '.join(argv)} did not end within {deadline_s:.0f} s") from exc
    if check and done.returncode:
        raise TestbedError(
            f"{' '.join(argv)} ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
        )
    return done
