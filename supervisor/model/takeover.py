"""A run whose batch host is dead: what agents write down about it, and who goes on with it."""

from typing import Literal

from supervisor.model.base import Fact
from supervisor.model.ids import JobId, NodeName

Why = Literal["majority", "alone"]
"""Most agents say the same; or they do not, and only Slurm's DOWN can tell."""


class Vote(Fact, frozen=True, kw_only=True):
    """`votes/<node>.json`: this node's agent has heard nobody for two leases, and its ranks are gone."""

    node: NodeName
    at: float
    """By the node's own clock, for people: nothing rests on it."""
    job_id: JobId
    restarts: int
    generation: int
    """With `renewed_at`, the very renewal of `term.json` that was the last one: a vote counts for that alone."""
    renewed_at: float


class Orphaned(Fact, frozen=True, kw_only=True):
    """What an agent tells the process that takes over."""

    job_id: JobId
    """As `SLURM_JOB_ID` reads in the ranks."""
    restarts: int
    here: NodeName
    batch_host: NodeName
    renewed_at: float
    """The last renewal of `term.json`."""
    votes: tuple[NodeName, ...] = ()
    why: Why
    is_late: bool = False
    """A takeover that another agent has claimed should long have been done: the job must not hold its nodes then."""


class Takeover(Fact, frozen=True, kw_only=True):
    """`takeovers/<jobid>.<restarts>.json`: made by `link()` before anything is started, so that one agent acts."""

    job_id: JobId
    restarts: int
    node: NodeName
    """Whose agent has claimed it; nobody else writes this file."""
    batch_host: NodeName
    at: float
    votes: tuple[NodeName, ...] = ()
    successor: JobId | None = None
    """The job that goes on with the run."""
    is_requeued: bool = False
    """Slurm was asked to start the same job again, since sbatch refused."""
    refused: str = ""
    """Why nothing was started, in words."""
