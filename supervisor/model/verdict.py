"""What an interruption was, and the proof: the interface of the diagnosis engine."""

from enum import StrEnum
from typing import Final, Literal

from supervisor.model.base import Fact
from supervisor.model.ids import NodeName, Rank

CANCELS: Final = frozenset({"user_cancel", "user_stop"})
"""Causes of an end that a person has wanted."""


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


class Changed(Fact, frozen=True, kw_only=True):
    """What is not as it was in a run that went well."""

    since: str
    """Which run: `job 79990 (completed)`, `attempt 2 (made progress)`."""
    what: tuple[str, ...] = ()
    """One change each, the most telling first; empty: nothing that was recorded."""
    more: int = 0
    """Changes left out here."""

    @property
    def text(self) -> str:
        """`since job 79990 (completed): train.py:212 eval_batch 4 -> 8; torch 2.6.0 -> 2.7.1`."""
        if not self.what:
            return f"nothing that is known since {self.since}"
        more = f"; and {self.more} more" if self.more else ""
        return f"since {self.since}: {'; '.join(self.what)}{more}"


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
    skip: str = ""
    """What a rerun would have to leave out (`retry` is skip): a file, or `step N`; empty: not known."""
    exclude_nodes: tuple[NodeName, ...] = ()
    """Nodes that must leave the allocation and the resubmission."""
    fingerprint: str = ""
    """Cause + top frame + file: equal fingerprints without progress between them stop the run (edge rule 8)."""
    evidence: tuple[Evidence, ...] = ()
    echoes: int = 0
    """Lines that follow from it, however loud they are."""
    unread: tuple[str, ...] = ()
    """Parts of the evidence that could not be read, each with the reason."""
    changed: Changed | None = None
    """For faults of the program: what is not as it was in the last good run, where one is known."""
