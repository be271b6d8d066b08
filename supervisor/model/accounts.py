"""What Slurm's accounting keeps of jobs that have run."""

from supervisor.model.base import Fact
from supervisor.model.ids import JobId, NodeName


class AccountedJob(Fact, frozen=True, kw_only=True):
    """One row: a job from a start, or from a change of its size, to an end or to the next change.

    A job that Slurm started again has several rows, and so has one that lost a node on the way (`RESIZING`).
    """

    job: JobId
    """As Slurm prints it; `17_3` for a task of an array."""
    raw_id: JobId
    """The number that only this job or task has."""
    cluster: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    state: str
    """Slurm's word, without who cancelled."""
    exit_code: int = 0
    exit_signal: int = 0
    derived_exit_code: int = 0
    """The worst of its steps, or what the user wrote there."""
    nodes: tuple[NodeName, ...] = ()
    failed: tuple[NodeName, ...] = ()
    """Of these whose failure ended the job, where this Slurm says so."""
    gpus: int = 0
    """Of all its nodes."""
    time_limit_s: float | None = None
    submitted_at: float | None = None
    started_at: float
    ended_at: float | None = None
    """None: it runs."""
    elapsed_s: float = 0.0
    """Without the time that it was suspended."""
    comment: str = ""


class Accounts(Fact, frozen=True, kw_only=True):
    """One answer of the accounting."""

    jobs: tuple[AccountedJob, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, each as a sentence."""
