"""What Slurm's hooks write down about a node: one line of JSON per job, and per change that the health check sees.

`/var/spool/supervise/node.jsonl` on each node, readable by root alone. `docs/hooks.md` describes it.
"""

from typing import Literal

import msgspec

from supervisor.model.base import Fact

SCHEMA = 1
Level = Literal["ok", "watch", "suspect", "fatal"]
"""watch: worth knowing. suspect: leave the node out if it happens again. fatal: no job should run here."""
Hook = Literal["prolog", "epilog", "health"]


class NodeFinding(Fact, frozen=True, kw_only=True):
    """One rule that fired."""

    level: Level
    rule: str
    cause: str = ""
    """Of the taxonomy; empty where the rule tells of no cause of an interruption."""
    gpu: str = ""
    """UUID."""
    text: str = ""
    """Value, limit and source, for a person."""


class SeenXid(Fact, frozen=True, kw_only=True):
    """A message of NVIDIA's driver in the kernel log, with how often it came."""

    xid: int
    pci: str = ""
    gpu: str = ""
    """UUID; empty where no GPU that answers has this address."""
    count: int = 1


class StrayProcess(Fact, frozen=True, kw_only=True):
    """A process of the job's user that lives on after the job."""

    pid: int
    name: str
    """As the process calls itself, cleaned; never its command line."""
    state: str
    """One letter, as in /proc: D cannot be killed."""


class GpuHolder(Fact, frozen=True, kw_only=True):
    """Memory of a GPU of the job that is not free after the job."""

    gpu: str
    mib: int | None = None
    pid: int = 0
    """0: nobody is told to hold it."""
    uid: int | None = None


class FullPlace(Fact, frozen=True, kw_only=True):
    """A filesystem in memory or on the node's disk that is full."""

    path: str
    used_share: float
    owner_uid: int | None = None
    """Who owns most of what lies there; None: not looked, or nobody."""
    owner_mb: int = 0


class Leftovers(Fact, frozen=True, kw_only=True):
    """What an ended job has left behind. A part that could not be read is None."""

    stray: tuple[StrayProcess, ...] | None = None
    """At most twenty; () also where the user has another job on this node."""
    stray_count: int = 0
    gpu_memory: tuple[GpuHolder, ...] | None = None
    full: tuple[FullPlace, ...] | None = None


class Told(Fact, frozen=True, kw_only=True):
    """What another health check of the site says of this node."""

    by: str
    """nhc or gcm."""
    text: str
    at: float | None = None
    is_failure: bool = True


class NodeRecord(Fact, frozen=True, kw_only=True):
    """One line."""

    schema: int
    at: float
    hook: Hook
    node: str
    level: Level
    job: int = 0
    uid: int | None = None
    rule: str = ""
    """The worst finding's."""
    gpu: str = ""
    findings: tuple[NodeFinding, ...] = ()
    gpus: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """UUID: counters that grew since the prolog (since the last check), each by how much."""
    lost_gpus: tuple[str, ...] = ()
    """UUIDs that were there at the prolog."""
    xids: tuple[SeenXid, ...] = ()
    oom_kills: int | None = None
    """On the node, since the prolog."""
    is_partial: bool = False
    """There is no prolog's reading of this boot to compare with, or the kernel log was overwritten in between."""
    leftovers: Leftovers | None = None
    told: tuple[Told, ...] = ()
    unread: tuple[str, ...] = ()
    """Readings that gave no answer, each with its reason."""
    drain: str = ""
    """What was done about a fatal finding: suggested, failed the hook, drained, or why not."""
    took_ms: int = 0
