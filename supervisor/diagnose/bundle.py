"""The evidence of one interruption, as values. `read.py` makes them from a folder or file."""

from dataclasses import dataclass, field

from supervisor.diagnose.signatures import Kind
from supervisor.model.base import Fact
from supervisor.model.ids import NodeName, Rank


class Facts(Fact, frozen=True, kw_only=True):
    """What is known beside logs: `facts.json` of a bundle, written by the supervisor. Everything is optional."""

    lost_nodes: tuple[NodeName, ...] = ()
    """Proven not to answer while others did."""
    exit_code: int | None = None
    """The script's; `128 + n` as a shell says it, too."""
    exit_signal: int | None = None
    job_state: str = ""
    """Slurm's word: TIMEOUT, CANCELLED, …"""
    job_reason: str = ""
    preempt_time: float | None = None
    is_cancelled: bool = False
    """Somebody cancelled the job: that is known, not guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One file of lines, or the first or last part of a large one."""

    name: str
    """As evidence names it: `ranks/3.log`, `slurm.log`, `kernel/node001.log`, `job.log`."""
    lines: tuple[str, ...]
    first: int = 1
    """Number of its first line."""
    kind: Kind = "any"
    rank: Rank | None = None
    """Who wrote it, where one rank did."""
    node: NodeName | None = None


class Place(Fact, frozen=True, kw_only=True):
    """Where a rank ran: one entry of `ranks` in `job.json`."""

    node: NodeName | None = None
    gpu: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """All evidence of one interruption."""

    logs: tuple[Log, ...] = ()
    facts: Facts = field(default_factory=Facts)
    places: dict[Rank, Place] = field(default_factory=dict)
    gpus: dict[tuple[NodeName, str], int] = field(default_factory=dict)
    """Index of a GPU by node and PCI address, as `short_pci` writes it."""


def short_pci(address: str) -> str:
    """`00000000:2A:00.0` and `0000:2a:00` alike as `2a:00`."""
    return ":".join(address.lower().split(".")[0].split(":")[-2:])
