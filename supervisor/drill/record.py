"""What a drill keeps: each injection with its moment, what followed, and the pace. `record.json` in its folder."""

from supervisor.model.base import Fact
from supervisor.model.ids import IncidentNo, JobId, NodeName, Rank, RunId
from supervisor.model.records import IncidentRecord


class Injection(Fact, frozen=True, kw_only=True):
    """One fault as it was made, told by the process that made it."""

    at: float
    """By the clock of its node, right before the deed."""
    node: NodeName = NodeName("")
    rank: Rank | None = None
    pid: int = 0
    step: int | None = None
    """Of the trainer."""
    back_at: float | None = None
    """When another process had taken the place of the one that was killed, seen on the same node."""


class Seen(Fact, frozen=True, kw_only=True):
    """One fault and all that followed, as the run folder shows it."""

    fault: str
    run_id: RunId = RunId("")
    job_id: JobId = JobId("")
    injection: Injection | None = None
    """None: it could not be made."""
    problem: str = ""
    """Why it could not be made, or what broke off the watch."""
    record: IncidentRecord | None = None
    """The first interruption after it."""
    more: tuple[IncidentNo, ...] = ()
    """Interruptions beyond that one."""
    is_moving: bool = False
    """New steps were made afterwards."""
    has_ended: bool = False
    """The job was over afterwards."""


class Paces(Fact, frozen=True, kw_only=True):
    """Seconds of each step, in rounds that alternate in one allocation."""

    plain: tuple[tuple[float, ...], ...] = ()
    ours: tuple[tuple[float, ...], ...] = ()
    problem: str = ""


class DrillRecord(Fact, frozen=True, kw_only=True):
    """All of one drill."""

    schema: int = 1
    version: str
    suite: str = ""
    began_at: float
    cluster: str = ""
    is_own_job: bool = True
    run_id: RunId = RunId("")
    log: str = ""
    """The event log of the last run that was drilled; a run that a fault has stopped is followed by another."""
    folder: str = ""
    jobs: tuple[JobId, ...] = ()
    seen: tuple[Seen, ...] = ()
    paces: Paces | None = None
    problem: str = ""
    """Why the drill ended before its end."""
