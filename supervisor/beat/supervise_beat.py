"""`beat(step)`: a rank's sign of life for the supervisor of its job; does nothing where there is none.

    from supervise_beat import beat

    for step in range(first, last):
        ...
        if beat(step, loss=loss):
            save_checkpoint(step)
            break

One store into a page of shared memory: no system call, no lock, no exception. Python >= 3.8, standard library only.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import mmap
import os
import stat
import struct
import sys

TYPE_CHECKING = False  # importing typing would cost more than all the rest of this module
if TYPE_CHECKING:
    from typing import Any

__all__ = ["beat"]

# The page, in this machine's byte order: it never leaves it. The reader of the other side
# (`supervisor/beat/pages.py`) uses these names.
PAGE_BYTES = 4096
MAGIC = b"SUPBEAT\0"
VERSION = 1
HEADER = struct.Struct("8sHBxI")
"""magic, version, control (written by the agent), generation of the page (from 1; raised when the agent remakes it)."""
CONTROL_AT = 10
STOP = 1
"""Control bit: save and stop."""
REMADE = 2
"""Control bit: this page's file is gone and there is a new one at its path."""
OWNER_AT = 16
OWNER = struct.Struct("IiQQ")
"""pid, rank, the process's start in clock ticks since boot, inode of its pid namespace; 0 = unknown."""
MISUSED_AT = 40
"""Arguments that could not be used, one byte that stops at 255."""
ENDED_AT = 41
"""1 once the owner comes to its end, with no exception that nobody caught: neither killed nor crashed."""
TELLS_AT = 42
"""1 once a beat was of a phase behind `step`: this program tells of its saves, evaluations or pauses."""
RECORD_AT = 64
RECORD = struct.Struct("QqdQQ")
"""count, step, loss, phase, count again: unequal counts = torn. It lies within one cache line.

`pack_into` clears the bytes before it writes them in order: count 0 with a step is torn as well.
"""
NO_STEP = -1
"""In a new page, and where a beat named no usable step."""
TIMES_AT = 128
TIMES = struct.Struct("Qdd")
"""The count they belong to, compute_s, comm_s of the last beat that named one."""
PHASES = {"setup": 0, "data": 1, "step": 2, "checkpoint": 3, "eval": 4, "idle": 5}

_STEP = PHASES["step"]
_NAN = math.nan
_store = RECORD.pack_into
_next_count = itertools.count(1).__next__
_page: mmap.mmap | None = None
_calls_without_page = 0
_heeded = 0
_is_end_awaited = False


def beat(
    step: int,
    loss: float | None = None,
    phase: str = "step",
    compute_s: float | None = None,
    comm_s: float | None = None,
) -> bool:
    """Say that this rank is alive at `step`; True asks to save a checkpoint and stop.

    `phase` is setup, data, step, checkpoint, eval or idle. A loss that lies on a device is not read, because
    reading it would make the step wait. Never raises: an argument that cannot be used is counted and left out.
    """
    page = _page
    if page is None:
        return _first_beat(step, loss, phase, compute_s, comm_s)
    try:
        if loss is None:
            loss = _NAN
        elif loss.__class__ is not float:
            loss = _number(page, loss)
        code = PHASES[phase]
        count = _next_count()
        _store(page, RECORD_AT, count, step, loss, code, count)
        if code > _STEP:
            page[TELLS_AT] = 1
        if compute_s is not None or comm_s is not None:
            _store_times(page, count, compute_s, comm_s)
    except Exception:  # noqa: BLE001 - whatever a caller hands over, its training goes on
        _store_usable(page, step, loss, phase, compute_s, comm_s)
    control = page[CONTROL_AT]
    return _heed(control) if control else False


def _number(page: mmap.mmap, value: Any) -> float:
    """The value as float, NaN where it cannot be had without waiting for a device or is no number."""
    try:
        device = getattr(value, "device", None)
        if value is not None and (device is None or "cpu" in str(device)):
            return float(value)
    except Exception:  # noqa: BLE001 - foreign objects raise what they like
        _count_misuse(page)
    return _NAN


def _store_times(page: mmap.mmap, count: int, compute_s: Any, comm_s: Any) -> None:
    TIMES.pack_into(page, TIMES_AT, count, _number(page, compute_s), _number(page, comm_s))


def _store_usable(page: mmap.mmap, step: Any, loss: Any, phase: Any, compute_s: Any, comm_s: Any) -> None:
    """Store what is usable of odd arguments: a beat is a sign of life whatever it says."""
    _count_misuse(page)
    try:
        known_step = int(step)
        struct.pack("q", known_step)
    except Exception:  # noqa: BLE001 - see _number
        known_step = NO_STEP
    code = PHASES.get(phase, PHASES["step"]) if isinstance(phase, str) else PHASES["step"]
    count = _next_count()
    _store(page, RECORD_AT, count, known_step, _number(page, loss), code, count)
    _store_times(page, count, compute_s, comm_s)


def _count_misuse(page: mmap.mmap) -> None:
    page[MISUSED_AT] = min(page[MISUSED_AT] + 1, 255)


def _heed(control: int) -> bool:
    """What the agent asks for. A remade page is opened once; if it cannot be, the old one goes on working."""
    global _heeded  # noqa: PLW0603 - a process has one page
    if control & REMADE and control != _heeded:
        _heeded = control
        _open()
    return bool(control & STOP)


def _first_beat(step: Any, loss: Any, phase: Any, compute_s: Any, comm_s: Any) -> bool:
    """Open the page, then beat. Tried at calls 1, 2, 4, 8, …: a rank may learn its number late."""
    global _calls_without_page  # noqa: PLW0603 - see _heed
    _calls_without_page += 1
    if _calls_without_page & (_calls_without_page - 1) or not _open():
        return False
    return beat(step, loss, phase, compute_s, comm_s)


def _open() -> bool:
    """Map this rank's page and own it; False where there is none to be had."""
    global _page, _heeded
    try:
        found = _path(os.environ)
        if found is None:
            return False
        path, rank = found
        page = _mapped(path)
        if page is None or not _own(page, rank):
            return False
    except Exception:  # noqa: BLE001 - no page is worth a rank
        return False
    _page, _heeded = page, 0
    return True


def rank_of(environment: Any) -> int | None:
    """This process's rank by its environment, None where it has none.

    A launcher inside a Slurm task (torchrun, mpirun, hydra) knows better than Slurm, which counts the launcher.
    """
    names = ["SUPERVISE_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"]
    if "TORCHELASTIC_RUN_ID" in environment and "LOCAL_RANK" in environment:
        names.insert(1, "RANK")
    for name in names:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    # Alone on one machine, with nobody to number it: `supervise run -- python train.py`.
    return 0 if "SUPERVISE_ATTEMPT" in environment and "SLURM_JOB_ID" not in environment else None


def folder_of(environment: Any) -> str:
    """Where the pages of this job lie on this node."""
    chosen: str = environment.get("SUPERVISE_BEAT_DIR", "")
    if chosen:
        return chosen
    base = "/dev/shm"  # noqa: S108 - the folder below it is 0700 and its owner is checked
    if not os.access(base, os.W_OK):
        base = environment.get("TMPDIR") or "/tmp"  # noqa: S108 - the same
    job = environment.get("SLURM_JOB_ID") or environment.get("SUPERVISE_RUN_ID", "")
    return f"{base}/supervise-{os.getuid()}-{job}"


def make_folder(path: str) -> bool:
    """Make the folder for us alone; False when somebody else has made it or may write in it."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)  # noqa: PTH102 - pathlib would double the time to import this module
    facts = os.lstat(path)
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o022


def _path(environment: Any) -> tuple[str, int] | None:
    attempt = environment.get("SUPERVISE_ATTEMPT", "")
    rank = rank_of(environment)
    if not attempt.isdigit() or "SUPERVISE_RUN_ID" not in environment or rank is None:
        return None
    folder = folder_of(environment)
    return (f"{folder}/{int(attempt)}-{rank}", rank) if make_folder(folder) else None


def _mapped(path: str) -> mmap.mmap | None:
    """The page at this path, made if it is missing; None when it is of another version."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        # A full /dev/shm must say so here: storing into a page that has no memory would end the rank by SIGBUS.
        os.posix_fallocate(handle, 0, PAGE_BYTES)
        page = mmap.mmap(handle, PAGE_BYTES)
    finally:
        os.close(handle)
    magic, version, _, _ = HEADER.unpack_from(page)
    if magic != MAGIC:
        HEADER.pack_into(page, 0, MAGIC, VERSION, 0, 1)
    elif version != VERSION:
        return None
    return page


def _own(page: mmap.mmap, rank: int) -> bool:
    """Write our name into the page, unless the process that owns it lives: a child never writes in its parent's."""
    pid, _, started, _ = OWNER.unpack_from(page, OWNER_AT)
    me = os.getpid()
    if pid not in (0, me) and started and started_at(pid) == started:
        return False
    mine = (me, started_at(me))
    if (pid, started) != mine:
        RECORD.pack_into(page, RECORD_AT, 0, NO_STEP, _NAN, PHASES["setup"], 0)
        TIMES.pack_into(page, TIMES_AT, 0, _NAN, _NAN)
        page[ENDED_AT] = page[TELLS_AT] = 0
        OWNER.pack_into(page, OWNER_AT, mine[0], rank, mine[1], pid_namespace())
    _await_end()
    return True


def _await_end() -> None:
    global _is_end_awaited  # noqa: PLW0603 - see _heed
    if not _is_end_awaited:
        import atexit  # only a rank needs it

        atexit.register(_say_end)
        _is_end_awaited = True


def _say_end() -> None:
    """The interpreter ends. After an exception that nobody caught it has kept its type, after `sys.exit` it has not."""
    if _page is not None and not hasattr(sys, "last_type"):
        _page[ENDED_AT] = 1


def started_at(pid: int) -> int:
    """The process's start in clock ticks since boot; 0 when there is no such process, or only its unreaped rest."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - see make_folder
            # The name in brackets may hold anything; the state and the start are the 1st and 20th word behind it.
            words = file.read().rpartition(b")")[2].split()
            return 0 if words[0] in (b"Z", b"X") else int(words[19])
    except (OSError, ValueError, IndexError):
        return 0


def pid_namespace() -> int:
    """Inode of this process's pid namespace: a pid says something only within its own; 0 = unknown."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - see make_folder
    except OSError:
        return 0


def _forget_page() -> None:
    """After a fork the page is the parent's; the child may find one of its own."""
    global _page, _calls_without_page, _heeded
    _page, _calls_without_page, _heeded = None, 0, 0


os.register_at_fork(after_in_child=_forget_page)
