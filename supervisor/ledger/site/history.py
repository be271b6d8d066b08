"""What is known of a site's jobs, from whatever source: the values that reports are functions of."""

from dataclasses import dataclass
from typing import Literal

from supervisor.model.ids import JobId, NodeName
from supervisor.model.site import SiteIncident, SiteJob, SiteUse


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHistory:
    """One job from its beginning to the newest line about it."""

    job: SiteJob
    incidents: tuple[SiteIncident, ...] = ()
    """Each number once, by number."""
    use: SiteUse | None = None
    """The newest word; of a job that Slurm started again the sum over all its starts. None: nothing is known."""
    owner: str = ""
    """Who wrote the file: name, or user id where it has none. Not for print where `job.user` is no plain name."""
    person: str = ""
    """Stands for the owner under all his names, as far as the ledger's key is known; empty: nobody can name him. Never
    for print."""
    is_trusted: bool = True
    """The owner agrees with the user that the record names. False: shown, with its owner, and believed in nothing."""
    source: Literal["ledger", "sacct"] = "ledger"

    @property
    def last_at(self) -> float:
        """The newest time in any of its lines."""
        used = self.use.at if self.use else self.job.at
        return max(self.job.at, used, *(incident.at for incident in self.incidents))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenFailure:
    """A failure that Slurm knows of and `supervise` does not: the job ran without it, or ended before a word."""

    at: float
    """When it ended, seconds since the epoch."""
    cluster: str = ""
    job: JobId
    state: str
    """Slurm's word: NODE_FAIL, REQUEUED, ..."""
    user: str = ""
    partition: str = ""
    nodes: tuple[NodeName, ...] = ()
    """Of the job; `failed` are those that Slurm names as the cause."""
    failed: tuple[NodeName, ...] = ()
    gpus_per_node: int = 0
    """0: none, or not known."""
    held_s: float = 0.0
    """How long the job had its nodes until then: what may be lost is this times its nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteHistory:
    """Everything that is known of a window of time."""

    jobs: tuple[JobHistory, ...] = ()
    """By time of beginning. Each whole: what happened to it outside of the window is in it, too."""
    unseen: tuple[UnseenFailure, ...] = ()
    problems: tuple[str, ...] = ()
    """What was left out, and why, each with file and owner."""
