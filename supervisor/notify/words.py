"""Which message an interruption or the end of a job is worth. Pure."""

from typing import Final

from supervisor.model.ids import JobId, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class
from supervisor.notify.message import Kind, Message, bounded

_NO_SLURM: Final = frozenset({"", "0"})
_WANTED: Final[dict[str, frozenset[Kind]]] = {
    "stopped": frozenset({"stopped"}),
    "interrupted": frozenset({"stopped", "interrupted"}),
    "all": frozenset({"stopped", "interrupted", "planned", "resubmitted", "cancelled", "completed"}),
}
_TITLES: Final[dict[Kind, str]] = {
    "stopped": "STOPPED, needs you",
    "interrupted": "interrupted, goes on",
    "planned": "ended as planned",
    "resubmitted": "goes on in another job",
    "cancelled": "cancelled",
    "completed": "completed",
}


def is_wanted(kind: Kind, notify_on: str) -> bool:
    """The person has asked for messages of this kind."""
    return kind in _WANTED[notify_on]


def of_record(record: IncidentRecord) -> Message | None:
    """For an interruption about which it has just been decided; None: there is nothing to tell (yet)."""
    verdict = record.verdict
    if record.is_closed or record.action == "none":
        return None
    kind: Kind = "planned" if verdict.cls is Class.PLANNED else "stopped" if record.action == "stop" else "interrupted"
    what = f"{verdict.cls}/{verdict.cause}"
    nodes = verdict.blame.nodes or verdict.exclude_nodes
    told = "interrupted (mode observe: nothing is done)" if record.action == "observe" else _TITLES[kind]
    lines = [
        verdict.summary,
        record.action_text,
        f"nodes: {' '.join(nodes)}" if nodes else "",
        _more(record.run_id, record.job_id),
    ]
    return bounded(
        Message(
            kind=kind,
            title=f"supervise: {_who(record.run_id, record.job_id)} {told}: {what}",
            text="\n".join(filter(None, lines)),
            run_id=record.run_id,
            job_id=record.job_id,
            at=record.opened_at,
            cls=str(verdict.cls),
            cause=verdict.cause,
            nodes=nodes,
            fingerprint=verdict.fingerprint or verdict.cause,
        )
    )


def of_end(
    *,
    run_id: RunId,
    job_id: JobId,
    at: float,
    is_good: bool,
    handed_over: bool,
    is_cancelled: bool,
    reason: str,
    fingerprint: str,
) -> Message:
    """For the end of a job; `fingerprint` is that of the interruption that stopped it, where one did."""
    kind: Kind = (
        "resubmitted" if handed_over else "completed" if is_good else "cancelled" if is_cancelled else "stopped"
    )
    return bounded(
        Message(
            kind=kind,
            title=f"supervise: {_who(run_id, job_id)} {_TITLES[kind]}",
            text="\n".join(filter(None, [reason, _more(run_id, job_id)])),
            run_id=run_id,
            job_id=job_id,
            at=at,
            fingerprint=fingerprint,
        )
    )


def _who(run_id: RunId, job_id: JobId) -> str:
    return f"job {job_id} (run {run_id})" if job_id not in _NO_SLURM else f"run {run_id}"


def _more(run_id: RunId, job_id: JobId) -> str:
    return f"more: supervise why {run_id if job_id in _NO_SLURM else job_id}"
