"""Runs on the node of a fault, in a step of its own: `python -I -m supervisor.drill.hit KIND JOB WAIT_S`.

Prints the `Injection` as one line of JSON right before the deed, and once more when another process has taken the
place of the one that was killed, where somebody must. Touches no process but the caller's own of this very job.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from supervisor.beat import supervise_beat as layout
from supervisor.beat.pages import Page
from supervisor.drill.kinds import Kind, known_kind
from supervisor.drill.record import Injection
from supervisor.model.base import encode
from supervisor.model.ids import NodeName, Rank

NOBODY: Final = 4
"""Exit code: there is no such process here."""
_LOOK_S: Final = 0.1
_SETTLE_S: Final = 0.3
"""A process that was killed is gone by then, and what is found afterwards is another."""
_SERVANTS: Final = frozenset({"agent", "supervisor", "broker"})
"""Another one must take the place of each."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A process to be hit."""

    pid: int
    rank: int | None = None


def main(kind: Kind, job: str, wait_s: float) -> int:
    """Do it, and tell."""
    victims = find(kind, job)
    if not victims:
        return NOBODY
    first = victims[0]
    done = Injection(
        at=time.time(),
        node=NodeName(os.environ.get("SLURMD_NODENAME", "") or socket.gethostname().partition(".")[0]),
        rank=None if first.rank is None else Rank(first.rank),
        pid=first.pid,
    )
    _tell(done)
    for victim in victims:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(victim.pid, signal.Signals[f"SIG{kind.signal}"])
    if kind.target in _SERVANTS and wait_s:
        _wait_for_another(kind, job, done, wait_s)
    return 0


def undo(pid: int, job: str) -> int:
    """Let a process of the job go on that was stopped; the exit code."""
    if pid not in set(_own_pids(job)):
        return NOBODY
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGCONT)
    return 0


def find(kind: Kind, job: str) -> list[Victim]:
    """Who is to be hit on this node; one, but for a whole node."""
    if kind.target == "node":
        return [Victim(pid) for pid in _own_pids(job)]
    if kind.target == "rank":
        return sorted(_ranks(job), key=lambda one: -1 if one.rank is None else one.rank)[-1:]
    if kind.target == "broker":  # it has nothing of the job in its environment
        return [Victim(pid) for pid in _mine() if _is_broker(_command_of(pid), job)][:1]
    ending = f"agent-{job}.json" if kind.target == "agent" else "supervisor.daemon"
    return [Victim(pid) for pid in _own_pids(job) if _has_word(_command_of(pid), ending)][:1]


def _has_word(words: list[str], ending: str) -> bool:
    """A word that ends so; srun has the words of what it starts among its own, and is not meant."""
    return bool(words) and not words[0].endswith("srun") and any(word.endswith(ending) for word in words)


def _is_broker(words: list[str], job: str) -> bool:
    """Started with a file in the job's own folder; the shell that guards it has its words, and is not meant."""
    folder = f"/supervise-bus-{os.getuid()}-{job}/"
    return bool(words) and not words[0].endswith("sh") and any(folder in word for word in words)


def _ranks(job: str) -> Iterator[Victim]:
    """By their beat pages, which name rank and process; where none beats, by Slurm's number of the task."""
    own = set(_own_pids(job))
    beating = [Victim(pid, rank) for pid, rank in _pages(job) if pid in own]
    yield from beating or _tasks(own)


def _pages(job: str) -> Iterator[tuple[int, int]]:
    folder = Path(layout.folder_of({**os.environ, "SLURM_JOB_ID": job}))
    found = [path for path in _entries(folder) if path.name.replace("-", "").isdigit()]
    newest = max((int(path.name.partition("-")[0]) for path in found), default=0)
    for path in found:
        attempt, _, rank = path.name.partition("-")
        with suppress(OSError):
            page = Page(path)
            record = page.read()
            page.close()
            if record is not None and int(attempt) == newest and not record.has_ended:
                yield record.pid, int(rank)


def _tasks(own: set[int]) -> Iterator[Victim]:
    """The largest process of each task: a shell around it is small."""
    largest: dict[int, tuple[int, int]] = {}
    for pid in own:
        env = _environment_of(pid)
        if not env.get("SUPERVISE_ATTEMPT") or not env.get("SLURM_STEP_ID", "").isdigit():
            continue
        rank = int(env.get("SLURM_PROCID", "0"))
        largest[rank] = max(largest.get(rank, (0, 0)), (_resident(pid), pid))
    return (Victim(pid, rank) for rank, (_, pid) in largest.items())


def _wait_for_another(kind: Kind, job: str, done: Injection, wait_s: float) -> None:
    ends = time.monotonic() + wait_s
    time.sleep(_SETTLE_S)
    while time.monotonic() < ends:
        if any(victim.pid != done.pid for victim in find(kind, job)):
            _tell(msgspec.structs.replace(done, back_at=time.time()))
            return
        time.sleep(_LOOK_S)


def _tell(done: Injection) -> None:
    sys.stdout.buffer.write(encode(done) + b"\n")
    sys.stdout.flush()


def _own_pids(job: str) -> Iterator[int]:
    """Processes of this user and job on this node, but for those of this very step."""
    step = os.environ.get("SLURM_STEP_ID", "-")
    for pid in _mine():
        env = _environment_of(pid)
        if env.get("SLURM_JOB_ID") == job and env.get("SLURM_STEP_ID") != step:
            yield pid


def _mine() -> Iterator[int]:
    """This user's processes on this node, but for this one and what started it."""
    spared = set(_lineage(os.getpid()))
    for path in _entries(Path("/proc")):
        if path.name.isdigit() and int(path.name) not in spared and _is_mine(path):
            yield int(path.name)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_mine(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


def _lineage(pid: int) -> Iterator[int]:
    while pid > 0:
        yield pid
        fields = _text(pid, "stat").rpartition(")")[2].split()
        pid = int(fields[1]) if len(fields) > 1 else 0


def _environment_of(pid: int) -> dict[str, str]:
    words = (word.partition("=") for word in _text(pid, "environ").split("\0"))
    return {name: value for name, _, value in words}


def _command_of(pid: int) -> list[str]:
    return [word for word in _text(pid, "cmdline").split("\0") if word]


def _resident(pid: int) -> int:
    fields = _text(pid, "statm").split()
    return int(fields[1]) if len(fields) > 1 else 0


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


if __name__ == "__main__":
    word, job_id, number = sys.argv[1:4]
    sys.exit(undo(int(number), job_id) if word == "undo" else main(known_kind(word), job_id, float(number)))
