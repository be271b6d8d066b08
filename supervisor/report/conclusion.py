"""Where a run stands, in one sentence that tells whether a person must do something. Pure."""

from collections.abc import Mapping
from typing import Final

from supervisor.model.records import IncidentRecord
from supervisor.model.status import RunStatus
from supervisor.model.verdict import CANCELS, Class
from supervisor.report.standing import Conclusion, Standing
from supervisor.report.unbegun import handed_on, unbegun
from supervisor.report.view import FINISHED, RunView
from supervisor.report.words import clock, count, duration

RESUBMIT: Final = "nothing goes on with this run; submit it again to go on from its newest checkpoint"
_LATE_S: Final = 60.0
"""A supervisor writes within seconds of its start."""
_STANDS_STILL: Final = (
    "unless a step takes so long, or it saves or evaluates: `py-spy dump` on a node shows where its ranks wait; "
    "a hang among ranks that beat is ended by itself once --hang-s or the phase's own time is over"
)
_SOMEBODY_GOES_ON: Final = (
    "a supervisor that dies is started again within seconds; where its node died, another node of the job takes over "
    "after two leases (--lease-s), about a minute"
)
_NOTHING: Final = "nothing for you to do"
_DOING: Final[Mapping[str, str]] = {
    "new": "Preparing",
    "preparing": "Preparing: nodes are checked, the checkpoint is looked for",
    "launching": "Launching",
    "running": "Running",
    "collecting": "Interrupted, evidence is being collected",
    "stopping": "Recovering, the attempt is being stopped",
    "shrinking": "Recovering, nodes are leaving the job",
    "checking": "Recovering, nodes are checked and the checkpoint is looked for",
    "leaving": "Saved before the time limit, its checkpoint is looked for",
    "submitting": "Recovering, another job is being submitted",
    "requeueing": "Recovering, Slurm is asked to start the job again",
    "ending": "Ending, the script has its time to save",
}
_REQUEUED: Final = "Requeued, Slurm starts job {job} again"


def conclude(view: RunView, now: float) -> Conclusion:
    """What there is to say about the run at this moment."""
    status = view.status
    if status is None:
        return unbegun(view.slurm, now) if view.slurm is not None else _waiting(view, now)
    found = _finished(view, status) if status.stage == FINISHED else _living(view, status, now)
    if found.standing is Standing.ENDED and view.slurm is not None and view.slurm.is_to_start:
        found = _handed_on(Standing.REQUEUED, _REQUEUED.format(job=view.job_id), status, _last_record(view, status))
    if view.slurm is not None and found.standing in {Standing.RESUBMITTED, Standing.REQUEUED}:
        found = handed_on(view.slurm, found, RESUBMIT)
    if not status.failed_writes:
        return found
    lost = f"{count(status.failed_writes, 'write')} to {view.folder} failed (is it full?): the records have gaps"
    return Conclusion(found.standing, found.text, (*found.blockers, lost))


def _waiting(view: RunView, now: float) -> Conclusion:
    age_s = now - view.run.created_at
    if not view.run.script_name and age_s > _LATE_S:  # `supervise run` begins at once
        text = f"UNKNOWN, look at it: run {view.run.run_id} began {duration(age_s)} ago, and no supervisor wrote of it."
        look = f"its command may have run as it is: look at its output, and for the reason at {view.folder}"
        return Conclusion(Standing.SILENT, text, (look,))
    if not view.job_id:
        return Conclusion(Standing.WAITING, f"Waiting: run {view.run.run_id} has not begun.")
    return Conclusion(
        Standing.WAITING,
        f"Waiting: the supervisor of job {view.job_id} has not begun; `squeue -j {view.job_id}` says why"
        " (not listed: the job has ended or was cancelled).",
    )


def _living(view: RunView, status: RunStatus, now: float) -> Conclusion:
    silent_s = view.silent_s(now)
    if silent_s is not None:
        return _silent(view, status, silent_s)
    doing = _DOING.get(status.stage, status.stage)
    standing = Standing.RECOVERING if doing.startswith(("Recovering", "Interrupted")) else Standing.RUNNING
    job = f" as job {view.job_id}" if len(view.jobs) > 1 else ""
    since = clock(view.run.created_at, now=now)
    text = f"{doing}{job}{_where(status)}. {_interruptions(view)} since {since}, "
    if view.is_without_new_step:
        return Conclusion(standing, f"{text}but no new step for a minute.", (_STANDS_STILL,))
    ordered = f"a halt is ordered {status.halt.removeprefix('halted ')}, " if status.halt else ""
    return Conclusion(standing, f"{text}{ordered}{_NOTHING}.")


def _silent(view: RunView, status: RunStatus, silent_s: float) -> Conclusion:
    gone = f"the supervisor has not written for {silent_s:.0f} s"
    look = f"`squeue -j {view.job_id}`, afterwards `sacct -j {view.job_id}`" if view.job_id else "`ps`"
    return Conclusion(
        Standing.SILENT,
        f"UNKNOWN, look at it: {gone}; its last word was {status.stage}{_where(status)}.",
        (f"see with {look} whether it still runs: {_SOMEBODY_GOES_ON}",),
    )


def _where(status: RunStatus) -> str:
    """Of a run that is over the last step that was heard of: it may have made some more before its end."""
    last = "last heard of at step" if status.stage == FINISHED else "step"
    parts = [f"attempt {status.attempt}"] if status.attempt else []
    parts += [f"{last} {status.step:,}"] if status.step is not None else []
    return f" ({', '.join(parts)})" if parts else ""


def _interruptions(view: RunView) -> str:
    text = count(len(view.interruptions), "interruption")
    return text[:1].upper() + text[1:]


def _finished(view: RunView, status: RunStatus) -> Conclusion:
    last = _last_record(view, status)
    if status.successor is not None:
        return _handed_on(Standing.RESUBMITTED, f"Resubmitted as job {status.successor}", status, last)
    if last is not None and last.action == "requeue":
        return _handed_on(Standing.REQUEUED, _REQUEUED.format(job=view.job_id), status, last)
    if last is not None and last.verdict.cls is Class.PLANNED and last.action != "none":
        return _planned_end(status, last)
    if status.exit_code == 0 or status.conclusion.startswith("completed"):
        return _completed(view, status)
    return _stopped(view, status, last)


def _last_record(view: RunView, status: RunStatus) -> IncidentRecord | None:
    """How this job ended, if it ended by an incident. One that was recovered from does not tell that."""
    last = view.records[-1] if view.records else None
    is_of_job = last is not None and last.job_id == status.job_id
    return last if is_of_job and last is not None and last.attempt >= status.attempt else None


def _handed_on(standing: Standing, text: str, status: RunStatus, last: IncidentRecord | None) -> Conclusion:
    why = f"{last.verdict.cls}/{last.verdict.cause}: {last.verdict.summary}" if last else status.conclusion
    return Conclusion(standing, f"{text}, {_NOTHING}." + (f" {why}." if why else ""))


def _planned_end(status: RunStatus, last: IncidentRecord) -> Conclusion:
    words = (status.conclusion or last.verdict.summary).rstrip(".")
    if last.verdict.cause in CANCELS:
        return Conclusion(Standing.CANCELLED, f"Cancelled{_where(status)}: {words}. {_NOTHING.capitalize()}.")
    return Conclusion(Standing.ENDED, f"ENDED, needs you: {words}{_where(status)}.", (RESUBMIT,))


def _completed(view: RunView, status: RunStatus) -> Conclusion:
    many = count(len(view.interruptions), "interruption")
    return Conclusion(Standing.COMPLETED, f"Completed{_where(status)}, {many}, {_NOTHING}.")


def _stopped(view: RunView, status: RunStatus, last: IncidentRecord | None) -> Conclusion:
    if last is None:
        return _stopped_without_incident(view, status)
    cause, why = f"{last.verdict.cls}/{last.verdict.cause}", last.action_text.removeprefix("stopped: ")
    if last.action == "observe":
        blocker = last.verdict.summary or cause
        return Conclusion(Standing.FAILED, f"FAILED, needs you: {cause}; mode observe, nothing was done.", (blocker,))
    why = why or status.conclusion
    return Conclusion(Standing.STOPPED, f"STOPPED, needs you: {cause}; {why}.", (f"{last.verdict.summary}; {why}",))


def _stopped_without_incident(view: RunView, status: RunStatus) -> Conclusion:
    words = status.conclusion.removeprefix("stopped: ")
    if words:
        return Conclusion(Standing.STOPPED, f"STOPPED, needs you: {words}.", (words,))
    look = f"the run has ended and its record does not say how; look at the job's output and at {view.log}"
    return Conclusion(Standing.ENDED, f"UNKNOWN, look at it: it has ended{_where(status)}.", (look,))
