"""Asking the testbed's Slurm, from its login node."""

import calendar
import re
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence

from testbed import processes, spaces
from testbed.errors import NotUp, TestbedError
from testbed.layout import Layout
from testbed.spec import Spec

_ASK_S = 30
_SLURMD_START = re.compile(r"SlurmdStartTime=(\S+)")
_IN_SERVICE = ("idle", "mixed", "allocated")
_POLL_S = 0.1
_LAST_BYTES = 2000


def ask(layout: Layout, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """The outcome of a Slurm command run as root on the login node; a failure when it takes too long."""
    holder = processes.recall(layout, "login")
    if holder is None:
        raise NotUp(layout.name)
    try:
        return _ask(holder, layout, argv)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 1, "", f"no answer within {_ASK_S} s")


def _ask(holder: processes.Process, layout: Layout, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        env={"PATH": spaces.ROOT_PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", "SLURM_CONF": str(layout.slurm_conf)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_ASK_S,
        preexec_fn=lambda: spaces.enter(holder.pid, "mnt", "uts"),  # safe: this program has one thread
    )


def node_states(layout: Layout) -> Mapping[str, str]:
    """What Slurm says about each node, as `sinfo` prints it (`idle`, `down*`, …); empty while it does not answer."""
    done = ask(layout, ["sinfo", "--noheader", "--Node", "--format=%N %T"])
    if done.returncode:
        return {}
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def wait_idle(spec: Spec, layout: Layout, nodes: Collection[str], deadline_s: float) -> None:
    """Return when all `nodes` are idle; raises TestbedError with what they are after `deadline_s` seconds."""
    until = time.monotonic() + deadline_s
    while True:
        states = node_states(layout)
        rest = [node for node in nodes if states.get(node) != "idle"]
        if not rest:
            return
        if time.monotonic() > until:
            raise TestbedError(
                f"after {deadline_s:.0f} s {len(rest)} of {spec.nodes} nodes are not idle: {rest[0]} is "
                f"{states.get(rest[0], 'unknown')!r}; its last words:\n{last_words(layout, rest[0])}"
            )
        time.sleep(_POLL_S)


def wait_back(layout: Layout, node: str, started_at: float, deadline_s: float) -> None:
    """Return when `node` is in service with a slurmd started at `started_at` (Unix seconds) or later."""
    until = time.monotonic() + deadline_s
    while not (node_states(layout).get(node) in _IN_SERVICE and _slurmd_start(layout, node) >= int(started_at)):
        if time.monotonic() > until:
            raise TestbedError(
                f"{node} is not back after {deadline_s:.0f} s but {node_states(layout).get(node, 'unknown')!r}; "
                f"its last words:\n{last_words(layout, node)}"
            )
        time.sleep(_POLL_S)


def _slurmd_start(layout: Layout, node: str) -> int:
    """When the slurmd that last registered for `node` was started, in Unix seconds; 0 when none did."""
    found = _SLURMD_START.search(ask(layout, ["scontrol", "show", "node", node]).stdout)
    if found is None or not found[1][0].isdigit():
        return 0
    return calendar.timegm(time.strptime(found[1], "%Y-%m-%dT%H:%M:%S"))


def last_words(layout: Layout, daemon: str, size: int = _LAST_BYTES) -> str:
    """The end of a daemon's log; of what it printed when it did not come as far as a log."""
    for file in (layout.logs / f"{daemon}.log", layout.logs / f"{daemon}.out"):
        words = file.read_text(errors="replace")[-size:].strip() if file.exists() else ""
        if words:
            return words
    return "(nothing)"
