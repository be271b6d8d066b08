"""Hands the run on: to a successor without the bad nodes, or back to Slurm's queue."""

import asyncio
from typing import Final

import msgspec
import structlog

from supervisor.core.events import Requeued, Submitted
from supervisor.core.instructions import CancelJob, Requeue, Submit
from supervisor.daemon.hands.again import excluded_and_required
from supervisor.daemon.hands.dependents import follow, who_holds
from supervisor.daemon.hands.sender import Sender
from supervisor.daemon.hands.standby import use
from supervisor.daemon.job_environment import environment_of_the_job
from supervisor.errors import NoSlurm, PayloadRefused, RunFolderUnusable, SlurmFailed, SlurmTimeout, UsageError
from supervisor.ledger.run_folder import SUBMISSIONS, SUBMITTED, SubmissionRecord, append_line, job_ids
from supervisor.model.base import encode
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.hostlist import compress, expand
from supervisor.slurm.resubmit import find_unheard, resubmit
from supervisor.slurm.startable import asking, first_startable
from supervisor.slurm.successor import Affordable, Circumstances, Successor, affordable, lesser, successor
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_FOLDER_S = 5.0
"""For one look into the run folder."""
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 8.0
CANCEL_S: Final = 15.0
"""For a successor to be cancelled: Slurm kills this job half a minute after its SIGTERM (KillWait)."""


async def submit(world: Sender, order: Submit) -> Submitted:
    """The successor's job id, a refusal in sbatch's words, or that nobody knows."""
    if not world.run.script_name:
        why = "the run has no script: it was started by `supervise run`"
        return Submitted(at=world.clock(), outcome="refused", text=why)
    # One at a time: an order that is given again, since its answer took so long, finds the job that the first one made.
    async with world.submitting:
        if world.successor is not None:
            return Submitted(at=world.clock(), outcome="accepted", job_id=world.successor)
        began = world.clock()
        if holds := await _held(world, order):
            return Submitted(at=world.clock(), outcome="refused", text=holds, holds=True)
        try:
            standby = await use(world, order)
            job, reasons = (standby, ()) if standby is not None else await _sent(world, order, began)
        except SlurmTimeout as exc:
            return Submitted(at=world.clock(), outcome="unknown", text=str(exc))
        except (SlurmFailed, NoSlurm, RunFolderUnusable, UsageError, PayloadRefused, OSError) as exc:
            return Submitted(at=world.clock(), outcome="refused", text=str(exc))
        world.successor = job
    line = encode(SubmissionRecord(at=world.clock(), job_id=job))
    world.writer.do(lambda: append_line(world.folder / SUBMISSIONS, line))
    # One that is only looked for may be there to be cancelled.
    moved, left = ((), ()) if order.only_look else await follow(world, job)
    return Submitted(at=world.clock(), outcome="accepted", job_id=job, text="; ".join(reasons), moved=moved, left=left)


async def _held(world: Sender, order: Submit) -> str:
    """Why another job would do harm, in words. One that was made already is none that could still be prevented."""
    if order.only_look or order.whoever_waits:
        return ""
    holds = await who_holds(world)
    if not holds or not world.has_submitted:
        return holds
    try:
        await _unheard(world)
    except SlurmTimeout:
        return ""  # nobody knows: as for any order whose answer was not heard
    except SlurmFailed:
        return holds
    return ""


async def _sent(world: Sender, order: Submit, began: float) -> tuple[JobId, tuple[str, ...]]:
    if order.only_look:
        return await _unheard(world), ()
    wanted = _after(await _planned(world, order.exclude), world, order)
    if world.sigterm_at >= began:
        raise SlurmFailed("nothing was sent: this job was told to end meanwhile")  # the machine learns why, and decides
    looks_first, world.has_submitted = world.has_submitted, True
    job = await resubmit(
        wanted,
        world.folder,
        known=await _known(world),
        deadline_s=world.settings.submit_deadline_s,
        look_deadline_s=world.settings.slurm_deadline_s,
        look_first=looks_first,
        count=world.slurm.calls,
    )
    return job, wanted.reasons


async def _unheard(world: Sender) -> JobId:
    """The job that an order made whose answer nobody heard; raises `SlurmFailed` where there is none."""
    found = await find_unheard(
        world.folder,
        known=await _known(world),
        deadline_s=world.settings.slurm_deadline_s,
        count=world.slurm.calls,
    )
    if found is None:
        raise SlurmFailed("no job was made")
    return found


async def _known(world: Sender) -> list[JobId]:
    return await aside(lambda: _older_jobs(world), deadline_s=_FOLDER_S, name="job_ids")


def _older_jobs(world: Sender) -> list[JobId]:
    """The run's jobs up to this one. A newer one is the successor, noted by a supervisor that was killed right then."""
    own = JobId(world.around.job_id.partition("_")[0])
    known = [*job_ids(world.folder), world.around.raw_job_id, own]
    return [job for job in known if int(job.partition("_")[0]) <= int(world.around.raw_job_id)]


async def _planned(world: Sender, exclude: tuple[NodeName, ...]) -> Successor:
    """The request; asked for again and again while slurmctld is away, since nothing has been sent yet."""
    loop = asyncio.get_running_loop()
    ends, pause_s = loop.time() + world.settings.submit_deadline_s, _FIRST_PAUSE_S
    while True:
        try:
            return await _plan(world, exclude)
        except SlurmFailed as exc:
            if loop.time() + pause_s > ends:
                raise SlurmTimeout(f"nothing was submitted yet, Slurm gives no answer: {exc}") from exc
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


async def requeue(world: Sender, order: Requeue) -> Requeued:
    """Back to the queue under the same id, then told where not to start: in this order, never held."""
    deadline_s = world.settings.slurm_deadline_s
    job = world.around.job_id
    began = world.clock()
    names, required = await excluded_and_required(world, job, order.exclude)
    if world.sigterm_at >= began:
        # `scontrol requeue` starts a cancelled job again, too: whoever ends this one meanwhile has the last word.
        return Requeued(at=world.clock(), ok=False, text="the job is being ended")
    try:
        await world.slurm.requeue(job, deadline_s=deadline_s)
    except (SlurmFailed, NoSlurm) as exc:
        if not await _is_leaving(world):
            return Requeued(at=world.clock(), ok=False, text=str(exc))
    try:
        await world.slurm.exclude(job, names, nodes=len(world.around.nodes), required=required, deadline_s=deadline_s)
    except (SlurmFailed, NoSlurm) as exc:
        return Requeued(at=world.clock(), ok=True, text=f"without exclusions: {exc}")
    return Requeued(at=world.clock(), ok=True)


async def _is_leaving(world: Sender) -> bool:
    """An order that was not heard may have been carried out: then the job does not run any more."""
    try:
        job = await world.slurm.job(world.around.job_id, deadline_s=world.settings.slurm_deadline_s)
    except (SlurmFailed, NoSlurm):
        return False
    return job.state != "RUNNING"


async def cancel_job(world: Sender, order: CancelJob) -> None:
    """Cancel a successor, again and again while slurmctld is away: the run was cancelled and would begin anew."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + CANCEL_S
    while True:
        try:
            await world.slurm.cancel_job(order.job_id, deadline_s=world.settings.slurm_deadline_s)
        except (SlurmFailed, NoSlurm) as exc:
            _log.warning("successor.not_cancelled", job=order.job_id, reason=exc)
        else:
            return
        if loop.time() + _FIRST_PAUSE_S > ends:
            return
        await asyncio.sleep(_FIRST_PAUSE_S)


def _after(wanted: Successor, world: Sender, order: Submit) -> Successor:
    """The request with a dependency on this job's end, where something of it may still live."""
    if not order.after_this_job:
        return wanted
    at = wanted.argv.index("sbatch") + 1
    dependency = f"--dependency=afterany:{world.around.raw_job_id}"
    return msgspec.structs.replace(wanted, argv=(*wanted.argv[:at], dependency, *wanted.argv[at:]))


async def _plan(world: Sender, exclude: tuple[NodeName, ...]) -> Successor:
    """The request, with as many of the exclusions as leave enough nodes that fit the job."""
    deadline_s = world.settings.slurm_deadline_s
    env = environment_of_the_job()
    job = await world.slurm.job(world.around.job_id, deadline_s=deadline_s)
    states = await world.slurm.partition_nodes(job.partition, deadline_s=deadline_s)
    counted = affordable(
        exclude,
        nodes=states,
        user_excluded=expand(job.exclude) if job.exclude else (),
        needed=_needed(world, job),
        spares=world.settings.spares,
    )
    path = world.folder / SUBMITTED / world.run.script_name
    script = await aside(path.read_bytes, deadline_s=_FOLDER_S, name="script")
    at = Circumstances(
        env=env,
        script=script.decode(errors="surrogateescape"),
        known=await world.slurm.node_names(deadline_s=deadline_s),
        array_task=env.get("SLURM_ARRAY_TASK_ID", ""),
    )
    rooms = lesser(counted)
    wishes = [successor(world.run, str(world.folder), exclude=one.kept, spares=one.spares, at=at) for one in rooms]
    chosen = await first_startable(wishes, asking(script, deadline_s=deadline_s, count=world.slurm.calls))
    return _told(wishes[chosen], rooms[chosen])


def _told(wish: Successor, room: Affordable) -> Successor:
    if not room.dropped:
        return wish
    names = compress(room.dropped)
    _log.warning("submit.exclusions_dropped", nodes=names)
    return msgspec.structs.replace(wish, reasons=(*wish.reasons, f"{names} may be used: too few other nodes fit"))


def _needed(world: Sender, job: JobFacts) -> int:
    """Nodes of the original request; a job that shrank asks for all of them again."""
    return world.run.nodes or max(
        1, len(world.around.nodes) - world.settings.spares, len(job.nodes) - world.settings.spares
    )
