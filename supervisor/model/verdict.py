"""What an interruption was, and the proof: the interface of the diagnosis engine."""

from enum import StrEnum
from typing import Literal

from supervisor.model.base import Fact
from supervisor.model.ids import NodeName, Rank


class Class(StrEnum):
    """The four classes of cause, the planned stop, and the honest answer."""

    HARDWARE = "hardware"
    NETWORK = "network"
    SOFTWARE = "software"
    DATA = "data"
    PLANNED = "planned"
    UNKNOWN = "unknown"


class Retry(StrEnum):
    """Whether a rerun can succeed without changing code, configuration or data (taxonomy)."""

    YES = "yes"
    ONCE = "once"
    NO = "no"
    SKIP = "skip"
    NEVER = "never"


class Evidence(Fact, frozen=True, kw_only=True):
    """One line or counter that supports a verdict."""

    source: str
    """`ranks/3.log:118`, `slurm.log:4`, `nvml/<node>.json`, `beats.json`."""
    role: Literal["root", "echo", "context"]
    signature: str
    text: str
    at: float | None = None
    """Seconds since the epoch, where the line has a time."""


class GpuRef(Fact, frozen=True, kw_only=True):
    """One GPU of one node."""

    node: NodeName
    gpu: int


class Blame(Fact, frozen=True, kw_only=True):
    """Who is at fault, most likely first."""

    nodes: tuple[NodeName, ...] = ()
    gpus: tuple[GpuRef, ...] = ()
    ranks: tuple[Rank, ...] = ()


class Verdict(Fact, frozen=True, kw_only=True):
    """One answer for one interruption."""

    cls: Class
    cause: str
    """A cause of the taxonomy, or `unattributed`."""
    confidence: float
    """0 to 1."""
    summary: str
    """One sentence for a person."""
    blame: Blame = Blame()
    retry: Retry = Retry.ONCE
    exclude_nodes: tuple[NodeName, ...] = ()
    """Nodes that must leave the allocation and the resubmission."""
    fingerprint: str = ""
    """Cause + top frame + file: equal fingerprints without progress between them stop the run (edge rule 8)."""
    evidence: tuple[Evidence, ...] = ()
    echoes: int = 0
    """Lines that follow from it, however loud they are."""
    unread: tuple[str, ...] = ()
    """Parts of the evidence that could not be read, each with the reason."""
