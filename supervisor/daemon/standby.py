"""A standby begins: is there still something to do? Slurm starts it after any failure, a final one and a cancel too."""

import asyncio

import structlog

from supervisor.core.state import Stage
from supervisor.daemon.assemble import Basics, Parts
from supervisor.daemon.history import Opening
from supervisor.errors import NoSlurm, RunFolderUnusable, SlurmFailed
from supervisor.ledger.run_folder import SubmissionRecord, note_submission, submissions
from supervisor.ledger.standby import Standby, read_standby
from supervisor.model.ids import JobId

_log = structlog.stdlib.get_logger(__name__)


def of_job(basics: Basics) -> JobId | None:
    """The job that waits for this one to fail."""
    found = read_standby(basics.folder)
    return found.job_id if found is not None and found.waits_for == basics.around.raw_job_id else None


async def why_not(basics: Basics, parts: Parts, begins: Opening) -> str:
    """Why this job has nothing to do, in words; empty: it goes on with the run, and is noted as one of its jobs."""
    found = await asyncio.to_thread(read_standby, basics.folder)
    own = basics.around.raw_job_id
    if begins.is_takeover or found is None or found.job_id != own:
        return ""
    if begins.state.submitted == own or own in await asyncio.to_thread(_submitted, basics):
        return ""
    if why := await _is_over(basics, parts, begins, found):
        return why
    try:
        note_submission(basics.folder, SubmissionRecord(at=basics.clock(), job_id=own))
    except RunFolderUnusable as exc:
        _log.warning("standby.not_noted", reason=exc)
    return ""


def _submitted(basics: Basics) -> list[JobId]:
    """Jobs that were submitted to go on with the run."""
    return [record.job_id for record in submissions(basics.folder)]


async def _is_over(basics: Basics, parts: Parts, begins: Opening, found: Standby) -> str:
    state = begins.state
    if state.stage is Stage.FINISHED and state.finish is not None and not state.finish.handed_over:
        return f"the run has ended: {state.finish.reason}"
    if state.halt is not None:
        return "the run was halted"
    try:
        job = await parts.world.slurm.job(found.waits_for, deadline_s=basics.settings.slurm_deadline_s)
    except (SlurmFailed, NoSlurm) as exc:
        _log.warning("standby.unknown", job=found.waits_for, reason=exc)
        return ""
    return f"job {found.waits_for} was cancelled" if job.state == "CANCELLED" else ""
