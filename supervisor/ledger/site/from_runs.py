"""A user's own run folders as histories, so that one report says the same of them as of a site. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from supervisor.ledger.site.from_record import site_incident
from supervisor.ledger.site.history import JobHistory, SiteHistory
from supervisor.model.ids import JobId, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.site import End, SiteJob, SiteUse
from supervisor.model.status import RunStatus
from supervisor.model.verdict import Class

_FINISHED: Final = "finished"
_NO_SLURM: Final = JobId("0")
_PLANNED_ENDS: Final[dict[str, End]] = {
    "user_cancel": "cancelled",
    "user_stop": "cancelled",
    "walltime": "time_limit",
    "requeue_before_walltime": "time_limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """What a run folder holds."""

    run: RunId
    created_at: float
    cluster: str = ""
    jobs: tuple[JobId, ...] = ()
    """Oldest first."""
    status: RunStatus | None = None
    """Of the newest job."""
    records: tuple[IncidentRecord, ...] = ()


def from_runs(runs: Iterable[KnownRun]) -> SiteHistory:
    """Each job of each run; a run keeps its name here."""
    jobs = [job for run in runs for job in _jobs(run)]
    return SiteHistory(jobs=tuple(sorted(jobs, key=lambda history: history.job.at)))


def _jobs(run: KnownRun) -> Iterable[JobHistory]:
    newest = run.status.job_id if run.status else next(reversed(run.jobs), _NO_SLURM)
    known = dict.fromkeys([*run.jobs, *(record.job_id for record in run.records), newest])
    for job in [name for name in known if name not in {_NO_SLURM, ""}] or [_NO_SLURM]:
        # Without Slurm a run has one job, whatever its records call it.
        records = [one for one in run.records if job in {one.job_id, _NO_SLURM}]
        yield _history(run, job, records, run.status if job == newest else None)


def _history(run: KnownRun, job: JobId, records: list[IncidentRecord], status: RunStatus | None) -> JobHistory:
    nodes = (status.nodes or status.attempt_nodes) if status else ()
    first = records[0] if records else None
    return JobHistory(
        job=SiteJob(
            at=_began_at(run, job, first, status),
            cluster=run.cluster,
            job=JobId("") if job == _NO_SLURM else job,
            run=run.run,
            nodes=first.nodes_before if first and first.nodes_before else nodes,
        ),
        incidents=tuple(site_incident(record, run.run) for record in records),
        use=_use(run, records, status) if status else None,
    )


def _began_at(run: KnownRun, job: JobId, first: IncidentRecord | None, status: RunStatus | None) -> float:
    if status is not None and status.began_at:
        return status.began_at
    is_first = job == next(iter(run.jobs), job)
    return first.evidence_at if first is not None and not is_first else run.created_at


def _use(run: KnownRun, records: list[IncidentRecord], status: RunStatus) -> SiteUse:
    """A folder keeps no count of what was held: the nodes that are left, from the beginning until the last word.

    Computing is at most what no interruption has cost.
    """
    held = len(status.nodes) * max(0.0, status.updated_at - status.began_at) if status.began_at else 0.0
    return SiteUse(
        at=status.updated_at,
        job=status.job_id,
        run=run.run,
        held_node_s=held,
        computing_node_s=max(0.0, held - sum(record.lost_node_seconds for record in records)),
        restarts=status.restarts,
        step=status.step,
        end=_end(records, status),
    )


def _end(records: list[IncidentRecord], status: RunStatus) -> End:
    if status.stage != _FINISHED:
        return ""
    if status.successor is not None:
        return "handed_on"
    if status.exit_code == 0 or status.conclusion.startswith("completed"):
        return "completed"
    last = records[-1] if records else None
    if last is not None and last.verdict.cls is Class.PLANNED:
        return _PLANNED_ENDS.get(last.verdict.cause, "failed")
    return "stopped" if status.conclusion.startswith("stopped") else "failed"
