"""A standby begins: is there still something to do? Slurm starts it after any failure, a final one and a cancel too."""

import asyncio

import structlog

from supervisor.core.state import Stage
from supervisor.daemon.assemble import Basics, Parts
from supervisor.daemon.history import Opening
from supervisor.daemon.predecessor import is_forgotten
from supervisor.errors import NoSlurm, RunFolderUnusable, SlurmFailed
from supervisor.ledger.run_folder import SubmissionRecord, note_submission, submissions
from supervisor.ledger.standby import Standby, read_standby
from supervisor.ledger.takeover import takeovers
from supervisor.model.ids import JobId

_log = structlog.stdlib.get_logger(__name__)


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


def _submitted(basics: Basics) -> list[JobId | None]:
    """Jobs that were submitted to go on with the run, or that an agent has chosen for that."""
    chosen = [takeover.successor for takeover in takeovers(basics.folder)]
    return [*(record.job_id for record in submissions(basics.folder)), *chosen]


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
        # One in which nothing of ours ever began was most likely cancelled in the queue, and this one had to wait.
        is_lost = not state.job_id and isinstance(exc, SlurmFailed) and is_forgotten(exc)
        return f"job {found.waits_for} ended before it began, and Slurm tells no more how" if is_lost else ""
    return f"job {found.waits_for} was cancelled" if job.state == "CANCELLED" else ""
