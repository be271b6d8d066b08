"""The broker as a process that outlives whoever started it: starting, recognising and ending it."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from supervisor.errors import BrokerFailed
from supervisor.model.base import Fact

_LOWEST_PRIORITY: Final = 19
_LAUNCH_S: Final = 10.0
_TERM_S: Final = 2.0
_POLL_S: Final = 0.05
_STATE_FIELD: Final = 0
_START_FIELD: Final = 19

# The shell leaves at once, so that the broker is nobody's child: no parent's death and no forgotten handle can end it.
# What stays beside it looks every few seconds whether the one for whom all this is done (the keeper, the batch
# shell's own process) still lives, and ends the broker when it does not, also where Slurm would not.
_LAUNCHER: Final = """
lives_with=$1; log=$2; shift 2
"$@" </dev/null >"$log" 2>&1 &
broker=$!
(
    while kill -0 "$broker"; do
        kill -0 "$lives_with" || { kill "$broker"; exit; }
        sleep 5
    done
) </dev/null >/dev/null 2>&1 &
echo "$broker"
"""


class ProcessMark(Fact, frozen=True, kw_only=True):
    """One process and no later one with the same number."""

    pid: int
    started: int
    """Clock ticks from boot to its start, as /proc says."""
    group: int
    """The process group that it shares with its guard alone."""

    def is_alive(self) -> bool:
        """Whether it runs; a zombie does not."""
        found = _state_and_start(self.pid)
        return found is not None and found[1] == self.started and found[0] != "Z"


async def launch(command: Sequence[str], *, log: Path, lives_with: int) -> ProcessMark:
    """Start the command in a session of its own, at low priority, with a clean environment. Raises `BrokerFailed`."""
    try:
        shell = await asyncio.to_thread(_start_shell, command, log, lives_with)
    except (OSError, subprocess.SubprocessError) as exc:
        raise BrokerFailed(f"{command[0]} cannot be started: {exc}") from exc
    pid, group = shell
    found = _state_and_start(pid)
    if found is None:
        raise BrokerFailed(f"{command[0]} ended at once{last_words(log)}")
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, group, _LOWEST_PRIORITY)
    with contextlib.suppress(OSError, ValueError):  # thousands of agents are as many descriptors
        most = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
    return ProcessMark(pid=pid, started=found[1], group=group)


async def end(process: ProcessMark) -> None:
    """TERM, then KILL; returns when it is gone, within three seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not process.is_alive():
            return
        # With its guard. The group's number cannot have gone to others while the broker is a member of it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.group, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TERM_S):
                await gone(process, poll_s=_POLL_S)


async def gone(process: ProcessMark, *, poll_s: float) -> None:
    """Returns when the process runs no more."""
    while process.is_alive():  # noqa: ASYNC110 - another process's end is no event of this loop
        await asyncio.sleep(poll_s)


def last_words(log: Path) -> str:
    """What the broker wrote last, as the end of a sentence; empty where it wrote nothing."""
    try:
        lines = log.read_bytes()[-2000:].decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {lines[-1]!r}" if lines else ""


def _start_shell(command: Sequence[str], log: Path, lives_with: int) -> tuple[int, int]:
    with subprocess.Popen(
        ["/bin/sh", "-c", _LAUNCHER, "supervise-broker", str(lives_with), str(log), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        cwd="/",
        start_new_session=True,
    ) as shell:
        try:
            said, _ = shell.communicate(timeout=_LAUNCH_S)
        except subprocess.TimeoutExpired:
            shell.kill()
            raise
        return int(said), shell.pid


def _environment() -> dict[str, str]:
    # Nothing of the job's: no mark of an attempt, by which stopping the ranks would stop the broker as well.
    # Pythons from a module system find their own libraries by LD_LIBRARY_PATH.
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", **kept}


def _state_and_start(pid: int) -> tuple[str, int] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        fields = text.rpartition(")")[2].split()
        return fields[_STATE_FIELD], int(fields[_START_FIELD])
    except (OSError, ValueError, IndexError):
        return None
