"""What Slurm and the filesystem said, as values."""

from typing import Literal

from supervisor.model.base import Fact
from supervisor.model.ids import JobId, NodeName


class JobFacts(Fact, frozen=True, kw_only=True):
    """One answer of Slurm about our job. A failed query has no such answer: unknown stays unknown."""

    job_id: JobId
    state: str
    """Slurm's word: RUNNING, COMPLETING, CANCELLED, ..."""
    reason: str = "None"
    nodes: tuple[NodeName, ...] = ()
    batch_host: NodeName | None = None
    restarts: int = 0
    start_time: float | None = None
    end_time: float | None = None
    """When the time limit ends the job (epoch seconds)."""
    preempt_time: float | None = None
    time_limit_s: float | None = None
    partition: str = ""
    qos: str = ""
    """Empty where Slurm keeps no accounts."""
    requeue: bool = True
    std_out: str = ""
    std_err: str = ""
    dependency: str = ""
    comment: str = ""
    exclude: str = ""
    """ExcNodeList as Slurm holds it."""
    required: str = ""
    """ReqNodeList as Slurm holds it."""


class NodeState(Fact, frozen=True, kw_only=True):
    """One node as Slurm sees it."""

    node: NodeName
    states: tuple[str, ...]
    """`("DOWN", "DRAIN")`, upper case, without the `*` of a node that does not answer."""
    is_responding: bool = True
    reason: str = ""


class Checkpoint(Fact, frozen=True, kw_only=True):
    """The checkpoint an attempt starts from."""

    path: str
    step: int
    kind: str
    """torch, safetensors, dcp, file or folder."""
    verdict: Literal["whole", "incomplete", "corrupt", "being_written", "gone", "unreadable"]
    why: str = ""
    size_bytes: int = 0


class Choice(Fact, frozen=True, kw_only=True):
    """Which checkpoint to resume from, and what was passed over."""

    chosen: Checkpoint | None
    passed_over: tuple[Checkpoint, ...] = ()
    is_trustworthy: bool = True
    """False: the listing failed or the store gave no answer. Then `chosen is None` does not mean "none exists"."""
    why: str = ""
