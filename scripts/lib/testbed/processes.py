"""Processes of a testbed: remembered ones by pid and start time, all of them by their mount namespace."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import TestbedError
from testbed.layout import Layout

_POLL_S = 0.01
_START_TIME_FIELD = 19  # counted after the command's closing parenthesis in /proc/PID/stat


@dataclass(frozen=True, slots=True)
class Process:
    """One process; a pid that was given to another process later is not taken for it."""

    pid: int
    start: int

    @property
    def is_alive(self) -> bool:
        """Whether it still runs (a zombie does not)."""
        return _start_time(self.pid) == self.start

    def kill(self, deadline_s: float = 30.0) -> None:
        """SIGKILL it and wait until it is gone; nothing when it is gone already."""
        if self.is_alive:
            send(self.pid, signal.SIGKILL)
        wait_until_gone([self], deadline_s)


def _start_time(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[_START_TIME_FIELD])


def process(pid: int) -> Process:
    """The process that `pid` is now; one that never matches when it is gone already."""
    start = _start_time(pid)
    return Process(pid, -1 if start is None else start)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal; nothing when the process is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until_gone(some: Iterable[Process], deadline_s: float) -> None:
    """Return when none of `some` lives; raises TestbedError after `deadline_s` seconds."""
    until = time.monotonic() + deadline_s
    rest = list(some)
    while rest := [one for one in rest if one.is_alive]:
        if time.monotonic() > until:
            raise TestbedError(f"processes {[one.pid for one in rest]} survived SIGKILL for {deadline_s:.0f} s")
        _reap()
        time.sleep(_POLL_S)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def remember(layout: Layout, what: str, pid: int) -> Process:
    """Note under `what` that `pid` belongs to the testbed."""
    found = process(pid)
    (layout.pids / f"{what}.json").write_text(json.dumps({"pid": found.pid, "start": found.start}))
    return found


def recall(layout: Layout, what: str) -> Process | None:
    """The living process noted under `what`."""
    try:
        noted = json.loads((layout.pids / f"{what}.json").read_text())
    except FileNotFoundError:
        return None
    found = Process(noted["pid"], noted["start"])
    return found if found.is_alive else None


def all_of(layout: Layout) -> list[Process]:
    """Every process in a mount namespace of the testbed, whoever started it and whatever was noted."""
    verdicts: dict[str, bool] = {}
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    found = [process(pid) for pid in pids if _is_inside(pid, layout, verdicts)]
    return [one for one in found if one.is_alive]


def _is_inside(pid: int, layout: Layout, verdicts: dict[str, bool]) -> bool:
    try:
        namespace = str(Path(f"/proc/{pid}/ns/mnt").readlink())
        if namespace not in verdicts:
            verdicts[namespace] = is_own_namespace(Path(f"/proc/{pid}/mountinfo").read_text(), layout)
    except OSError:  # gone while we looked, or a zombie: neither holds a namespace
        return False
    return verdicts[namespace]


def is_own_namespace(mountinfo: str, layout: Layout) -> bool:
    """Whether a mount table has this testbed's hosts file in the place of /etc/hosts."""
    mark = str(Path(*(layout.etc / "hosts").parts[-4:]))
    for line in mountinfo.splitlines():
        root, target = line.split()[3:5]
        if target == "/etc/hosts" and root.removesuffix("//deleted").endswith(f"/{mark}"):
            return True
    return False


def kill_all_of(layout: Layout, deadline_s: float = 30.0) -> None:
    """SIGKILL every process of the testbed until none is left; raises TestbedError when some survive."""
    until = time.monotonic() + deadline_s
    while found := all_of(layout):
        for one in found:
            send(one.pid, signal.SIGKILL)
        wait_until_gone(found, max(until - time.monotonic(), 0.0))
