"""The evidence of one interruption, as values. `reading/` makes them from a folder or file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from supervisor.diagnose.evidence.flight import Dump
from supervisor.diagnose.numbers import number_in
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
    hung_s: float | None = None
    """For how long no rank had moved though all lived, where that alone has interrupted the run."""
    collected_at: float | None = None
    """When the evidence was gathered (epoch seconds): tells the year, and the day, of lines that do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One file of lines: held in memory, or read piece by piece when it is scanned."""

    name: str
    """As evidence names it: `ranks/3.log`, `slurm.log`, `kernel/node001.log`, `job.log`."""
    lines: tuple[str, ...] = ()
    pieces: Callable[[], Iterator[bytes]] | None = None
    """Opens the file and gives its bytes; instead of `lines`."""
    kind: Kind = "any"
    rank: Rank | None = None
    """Who wrote it, where one rank did."""
    node: NodeName | None = None
    written_at: float | None = None
    """When the file was last written: tells the year where its lines do not."""

    def data(self) -> Iterator[bytes]:
        """The log's bytes. Raises `OSError` where a file cannot be read."""
        if self.pieces is not None:
            return self.pieces()
        return iter(["".join(f"{line}\n" for line in self.lines).encode(errors="replace")])

    @property
    def damage(self) -> str:
        """Why its file ended too early; known once it was read."""
        return str(getattr(self.pieces, "damage", ""))


class Place(Fact, frozen=True, kw_only=True):
    """Where a rank ran: one entry of `ranks` in `job.json`."""

    node: NodeName | None = None
    local_rank: int | None = None
    gpu: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """All evidence of one interruption."""

    logs: tuple[Log, ...] = ()
    facts: Facts = field(default_factory=Facts)
    nodes: tuple[NodeName, ...] = ()
    """The job's nodes, where they are known."""
    places: dict[Rank, Place] = field(default_factory=dict)
    layout: dict[Rank, dict[str, int]] = field(default_factory=dict)
    """Place of a rank in each parallel dimension: `{3: {"tp": 1, "dp": 0}}`."""
    nvml: dict[NodeName, dict[str, Any]] = field(default_factory=dict)
    """What each node's GPUs said, as `nvml/<node>.json` has it."""
    rdma: dict[NodeName, dict[str, Any]] = field(default_factory=dict)
    topology: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    beats: tuple[dict[str, Any], ...] = ()
    flight: tuple[Dump, ...] = ()
    """Flight-recorder dumps of the ranks."""
    stacks: dict[Rank, tuple[str, ...]] = field(default_factory=dict)
    """Frames of each rank's main thread while it hung, innermost first."""
    unread: tuple[str, ...] = ()
    """Parts that could not be read, each with the reason."""

    @property
    def gpus(self) -> dict[tuple[NodeName, str], int]:
        """Index of a GPU by node and PCI address, as `short_pci` writes it."""
        found: dict[tuple[NodeName, str], int] = {}
        for node, told in self.nvml.items():
            gpus = told.get("gpus")
            for index, gpu in gpus.items() if isinstance(gpus, dict) else ():
                number = number_in(index)
                if number is not None and isinstance(gpu, dict) and isinstance(gpu.get("pci"), str):
                    found[node, short_pci(gpu["pci"])] = number
        return found


def short_pci(address: str) -> str:
    """`00000000:2A:00.0` and `0000:2a:00` alike as `2a:00`."""
    return ":".join(address.lower().split(".")[0].split(":")[-2:])
