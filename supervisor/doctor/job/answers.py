"""What the test job tells: small files in its folder, each written whole; and the outcome that is made of them."""

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from supervisor.doctor.place import Machine, Tried
from supervisor.model.base import Fact, encode

ASK: Final = "ask.json"
ATTEMPT: Final = "attempt.json"
PORT: Final = "port.json"
MEMORY: Final = "memory.json"
DONE: Final = "done.json"
_T = TypeVar("_T", bound=Fact)


class Ask(Fact, frozen=True, kw_only=True):
    """What the job is to know."""

    options: tuple[str, ...] = ()
    """The user's, for sbatch."""
    first_port: int = 0
    last_port: int = 0
    """SrunPortRange; 0: any port."""


class AttemptLook(Fact, frozen=True, kw_only=True):
    """Written by the batch host when the script first runs."""

    job_id: str
    nodes: tuple[str, ...]
    is_supervised: bool


class OpenPort(Fact, frozen=True, kw_only=True):
    """Where the first node listens."""

    host: str
    port: int
    complaint: str = ""


class Pid(Fact, frozen=True, kw_only=True):
    """One process for good: a pid may be given again."""

    pid: int
    started: int


class NodeLook(Fact, frozen=True, kw_only=True):
    """One node, seen from a rank."""

    node: str
    machine: Machine
    gpus_given: int = 0
    """By Slurm, to this step."""
    gpus_seen: int | None = None
    """That the driver lets this step open; None: no driver answers."""
    port: str = ""
    """`open`, `listening`, `alone`, or why the first node could not be reached."""
    left: tuple[Pid, ...] = ()
    """Itself and a child in a session of its own: they must be gone after the stop."""


class AfterLook(Fact, frozen=True, kw_only=True):
    """The same node in the second attempt."""

    node: str
    survivors: int
    has_agent: bool


class MemoryTry(Fact, frozen=True, kw_only=True):
    """A rank took four times its limit."""

    survived: bool
    has_agent: bool
    words: str = ""


class Done(Fact, frozen=True, kw_only=True):
    """The last word of the script."""

    submits: Tried


class JobOutcome(Fact, frozen=True, kw_only=True):
    """All that came of it; what is None was not reached."""

    job_id: str = ""
    refused: str = ""
    """sbatch's words."""
    pended: str = ""
    """Why it never began."""
    state: str = ""
    """Slurm's last word."""
    output: str = ""
    """The last line of the job's output."""
    took_s: float = 0.0
    attempt: AttemptLook | None = None
    looks: tuple[NodeLook, ...] = ()
    afters: tuple[AfterLook, ...] = ()
    memory: MemoryTry | None = None
    submits: Tried | None = None
    transport: str = ""
    nodes_up: int = 0
    recovery_s: float | None = None
    """From the verdict until ranks ran again."""
    calls: int = 0
    kept: str = ""
    """The folder, where it is left for a person to look into."""

    @property
    def has_broken_off(self) -> bool:
        """It was taken and left the queue, and its script did not come to its end."""
        return bool(self.job_id) and not self.pended and self.submits is None


def write(folder: Path, name: str, fact: Fact) -> None:
    """Whole or not at all, so that whoever waits for it never reads half."""
    fresh = folder / f".{name}"
    fresh.write_bytes(encode(fact))
    fresh.replace(folder / name)


def read(folder: Path, name: str, kind: type[_T]) -> _T | None:
    """None where it is not there, or is none."""
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def read_all(folder: Path, begin: str, kind: type[_T]) -> tuple[_T, ...]:
    """Every file whose name begins so, in the order of names."""
    found = (read(folder, path.name, kind) for path in sorted(folder.glob(f"{begin}*.json")))
    return tuple(fact for fact in found if fact is not None)
