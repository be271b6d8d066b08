"""Which processes on this node belong to the run: by the marks in their environment, or by their parents'."""

import os
import re
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supervisor.model.ids import AttemptNo, JobId, RunId

_LOOKS: Final = 5
"""A process without marks is looked at this often before it is left alone: between fork and exec, a task that
slurmstepd starts still has slurmstepd's environment and owner."""
_NO_STEP: Final = 0xFFFF_FFF0
"""Slurm's own step ids (batch, extern, interactive) lie above this."""

_CGROUP: Final = re.compile(rb"/job_(\d+)/step_(\w+)")

NO_JOB: Final = JobId("0")
"""Outside Slurm; the ranks then have no `SLURM_JOB_ID`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One living process of the run. Pid and start together name it for good."""

    pid: int
    started: int
    """Clock ticks since boot."""
    attempt: AttemptNo
    is_task: bool
    """Started by a step (srun), not part of the batch script's own tree."""
    parent: int = 0
    is_stuck: bool = False
    """In uninterruptible sleep: no signal reaches it."""


@dataclass(frozen=True, slots=True)
class _Marks:
    attempt: AttemptNo
    is_task: bool


@dataclass(slots=True)
class _Known:
    started: int
    marks: _Marks | None
    looks: int = 1


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    parent: int
    started: int


class Scanner:
    """Finds the run's processes of this user. Cheap enough for once per second: old processes cost no system call.

    A process once recognised stays so: a program may overwrite its environment (setproctitle does). A child without
    marks belongs where its parent belongs. The caller itself and its ancestors never do.
    """

    def __init__(self, *, run_id: RunId, job_id: JobId, proc: Path = Path("/proc")) -> None:
        job = job_id.encode() if job_id != NO_JOB else b""
        self._marks = {b"SUPERVISE_RUN_ID": run_id.encode(), b"SLURM_JOB_ID": job}
        self._proc = str(proc)
        self._uid = os.getuid()
        self._known: dict[int, _Known] = {}
        self._spared = frozenset(self._lineage(os.getpid()))
        self.reading: int | None = None
        """The process whose environment is being read: the kernel may hold the reader for as long as it is stuck."""
        self.unreadable: set[int] = set()
        """Processes not to be read again. The caller adds the one that a scan hung on."""

    def scan(self, *, is_thorough: bool = False) -> tuple[Process, ...]:
        """The run's living processes, by pid. Thorough: every process of the user is looked at again."""
        present = sorted(int(name) for name in os.listdir(self._proc) if name.isdigit())  # noqa: PTH208 - names only
        for gone in self._known.keys() - present:
            del self._known[gone]
        self.unreadable.intersection_update(present)
        # Twice when thorough: a child may have the lower number, and then comes before its parent is recognised.
        for _ in range(2 if is_thorough else 1):
            for pid in present:
                known = self._known.get(pid)
                if known is None or (known.marks is None and (is_thorough or known.looks < _LOOKS)):
                    self._look(pid, known)
        return tuple(process for pid in present if (process := self._living(pid)) is not None)

    def _look(self, pid: int, known: _Known | None) -> None:
        looks = known.looks + 1 if known else 1
        stat = self._stat(pid) if self._is_ours(pid) else None
        if stat is None:
            self._known[pid] = _Known(0, None, looks)
            return
        marks = self._marks_of(pid)
        if marks is None and (parent := self._known.get(stat.parent)) is not None:
            marks = parent.marks
        self._known[pid] = _Known(stat.started, marks, looks)

    def _living(self, pid: int) -> Process | None:
        known = self._known.get(pid)
        if known is None or known.marks is None:
            return None
        stat = self._stat(pid)
        if stat is None or stat.started != known.started:
            del self._known[pid]  # gone, or another process under its number: looked at by the next scan
            return None
        is_stuck = stat.state == "D"
        if stat.state in "ZX":
            threads = self._thread_states(pid)
            if not threads - {"Z", "X"}:
                return None  # dead, waits for its parent
            is_stuck = "D" in threads
        return Process(
            pid=pid,
            started=known.started,
            attempt=known.marks.attempt,
            is_task=known.marks.is_task,
            parent=stat.parent,
            is_stuck=is_stuck,
        )

    def _is_ours(self, pid: int) -> bool:
        if pid in self._spared:
            return False
        try:
            return os.stat(f"{self._proc}/{pid}").st_uid == self._uid  # noqa: PTH116 - see _read
        except OSError:
            return False

    def _marks_of(self, pid: int) -> _Marks | None:
        if pid in self.unreadable:
            return self._marks_by_cgroup(pid)
        self.reading = pid
        text = self._environment(pid)
        self.reading = None
        return parse_marks(dict(_words(text)), self._marks)

    def _marks_by_cgroup(self, pid: int) -> _Marks | None:
        """Slurm's cgroup names job and step, and can be read whatever the process hangs in. Of the oldest attempt."""
        found = _CGROUP.search(self._read(f"{pid}/cgroup"))
        if found is None or not self._marks[b"SLURM_JOB_ID"] or found[1] != self._marks[b"SLURM_JOB_ID"]:
            return None
        return _Marks(AttemptNo(0), is_task=found[2].isdigit())

    def _environment(self, pid: int) -> bytes:
        """The first thread's, or where that has ended already, another's."""
        if text := self._read(f"{pid}/environ"):
            return text
        others = (self._read(f"{pid}/task/{thread}/environ") for thread in self._threads(pid))
        return next((text for text in others if text), b"")

    def _thread_states(self, pid: int) -> set[str]:
        """States of a process whose first thread has ended: the others may live, or hang in the driver."""
        stats = (_parse_stat(self._read(f"{pid}/task/{thread}/stat")) for thread in self._threads(pid))
        return {stat.state for stat in stats if stat is not None}

    def _threads(self, pid: int) -> list[str]:
        try:
            return os.listdir(f"{self._proc}/{pid}/task")  # noqa: PTH208 - see _read
        except OSError:
            return []

    def _lineage(self, pid: int) -> Iterable[int]:
        while pid > 0:
            yield pid
            stat = self._stat(pid)
            pid = stat.parent if stat else 0

    def _stat(self, pid: int) -> _Stat | None:
        return _parse_stat(self._read(f"{pid}/stat"))

    def _read(self, name: str) -> bytes:
        """The whole file, empty when it is gone or not ours to read. Bare calls: it is read for every process."""
        try:
            fd = os.open(f"{self._proc}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            parts = []
            while part := os.read(fd, 1 << 16):
                parts.append(part)
        except OSError:
            return b""
        finally:
            os.close(fd)
        return b"".join(parts)


def parse_marks(environment: Mapping[bytes, bytes], wanted: Mapping[bytes, bytes]) -> _Marks | None:
    """The attempt that a process with this environment belongs to; None when it is not of the wanted run and job."""
    attempt = environment.get(b"SUPERVISE_ATTEMPT", b"")
    if not attempt.isdigit() or any(environment.get(name, b"") != value for name, value in wanted.items()):
        return None
    step = environment.get(b"SLURM_STEP_ID", b"")
    return _Marks(AttemptNo(int(attempt)), is_task=step.isdigit() and int(step) < _NO_STEP)


def send_signal(process: Process, number: int) -> None:
    """Signal this very process, never another that has got its number. One that is gone is no error."""
    with suppress(ProcessLookupError, PermissionError):
        try:
            handle = os.pidfd_open(process.pid)
        except OSError as error:
            if isinstance(error, ProcessLookupError):
                return
            _signal_by_number(process, number)  # kernels before 5.3 have no pidfd
            return
        try:
            if _started(process.pid) == process.started:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _signal_by_number(process: Process, number: int) -> None:
    if _started(process.pid) == process.started:
        os.kill(process.pid, number)


def _started(pid: int) -> int | None:
    try:
        stat = _parse_stat(Path(f"/proc/{pid}/stat").read_bytes())
    except OSError:
        return None
    return stat.started if stat else None


def _words(environment: bytes) -> Iterable[tuple[bytes, bytes]]:
    for word in environment.split(b"\0"):
        name, _, value = word.partition(b"=")
        yield name, value


def _parse_stat(text: bytes) -> _Stat | None:
    """State, parent and start. The name in brackets may hold anything, brackets and spaces included."""
    fields = text.rpartition(b")")[2].split()
    if len(fields) < 20:  # noqa: PLR2004 - the start is the 22nd field, the 20th behind the name
        return None
    return _Stat(state=fields[0].decode(), parent=int(fields[1]), started=int(fields[19]))
