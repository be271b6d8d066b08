"""Only one job of a run may work on it: claims the run for this job, and waits for what may still live of others."""

import asyncio
import shutil
import sys
from typing import Final

from supervisor.agent.votes import FOLDER as VOTES
from supervisor.daemon import predecessor
from supervisor.daemon.assemble import Basics, Parts
from supervisor.daemon.history import Opening, begun_by
from supervisor.daemon.isolation import stop_all
from supervisor.daemon.lease import RENEW_S, Lease, later_term, others_claim
from supervisor.daemon.surroundings import Surroundings
from supervisor.ledger.claim import Claim, claim
from supervisor.ledger.run_folder import job_ids
from supervisor.ledger.takeover import takeovers
from supervisor.model.term import Term

_LEAVE_S: Final = 5.0
_START_S: Final = 90.0
"""What the keeper is told beyond the waiting, for everything up to the first order."""
_SUCCESSOR_S: Final = 20.0
"""For a newer job of the run to be gone, where it is being cancelled just now."""
_PREDECESSOR_S: Final = 600.0
"""For an earlier job of the run to end: KillWait, epilog, a node that takes its time."""
_NOTICED_S: Final = RENEW_S + 2.0
"""For a batch host that Slurm has given up, and that lives, to see whose the term is now, and to stop its ranks."""


async def is_alone(basics: Basics, parts: Parts, begins: Opening, lease: Lease) -> bool:
    """Whether this job may begin; where not, it has been ended. An earlier job that lives keeps the run."""
    around = basics.around
    lease.outlived = await _outlived(basics, parts, begins)
    if around.is_slurm and (who := await asyncio.to_thread(_others_claim, basics, lease)):
        # A machine that was away and is back: what it ran must not go on beside the successor.
        await stop_all(parts.world)
        await end(basics, f"{who}: this job ends")
        return False
    wanted = Claim(job_id=around.job_id, at=basics.clock(), restarts=around.restarts, host=around.here)
    await asyncio.to_thread(claim, basics.folder, wanted)
    basics.writer.do(lambda: shutil.rmtree(basics.folder / VOTES, ignore_errors=True))  # about a supervisor before us
    if begins.is_takeover or not around.is_slurm:
        return True
    basics.keeper.busy(_PREDECESSOR_S + _START_S)
    is_from_agent = begun_by(await asyncio.to_thread(takeovers, basics.folder), around) is not None
    if not await _are_others_gone(basics, parts, may_complete=begins.is_settled or is_from_agent):
        return False
    is_elsewhere = begins.state.batch_host not in {"", around.here}
    if is_elsewhere and not begins.is_settled and not is_from_agent:
        lease.renew(generation=begins.generation, address=parts.address, held=around.nodes)
        await asyncio.sleep(_NOTICED_S)
    return True


def _others_claim(basics: Basics, lease: Lease) -> str:
    return others_claim(basics.folder, basics.around, outlived=lease.outlived)


async def _outlived(basics: Basics, parts: Parts, begins: Opening) -> Term | None:
    """A later job's term, where Slurm says that this job has ended: a person has started ours again after it.

    Not where this start of ours had a supervisor before: such a machine was away, and is back.
    """
    later = await asyncio.to_thread(later_term, basics.folder, basics.around)
    if later is None or begins.is_takeover or later.job_id == basics.around.raw_job_id:
        return None
    ask_s = basics.settings.slurm_deadline_s
    left = await predecessor.ended(
        parts.world.slurm, [later.job_id], may_complete=False, may_wait=False, ask_s=ask_s, deadline_s=0.0
    )
    return None if left else later


async def _are_others_gone(basics: Basics, parts: Parts, *, may_complete: bool) -> bool:
    """`may_complete`: off a dead node a job stays COMPLETING for minutes. What it ran is proven stopped, or fenced."""
    around, slurm, ask_s = basics.around, parts.world.slurm, basics.settings.slurm_deadline_s
    others = [job for job in await asyncio.to_thread(job_ids, basics.folder) if _number(job) != _number(around.job_id)]
    newer = [job for job in others if not _is_older(job, around)]
    left = await predecessor.ended(
        slurm, newer, may_complete=True, may_wait=False, ask_s=ask_s, deadline_s=_SUCCESSOR_S
    )
    if left:  # this job was handed over once, and Slurm or a person started it again
        await end(basics, f"job {', '.join(left)} goes on with this run: this one ends")
        return False
    older = [job for job in others if _is_older(job, around)]
    left = await predecessor.ended(
        slurm, older, may_complete=may_complete, ask_s=ask_s, deadline_s=_PREDECESSOR_S - _SUCCESSOR_S
    )
    if left:
        words = f"job {', '.join(left)} of this run may still live after {_PREDECESSOR_S:.0f} s"
        await end(basics, f"{words}; cancel it (scancel {' '.join(left)}) and submit again")
    return not left


async def end(basics: Basics, words: str) -> None:
    """End the job here and not by raising: without a supervisor the keeper would start the script beside that job."""
    print(f"supervise: {words}", file=sys.stderr)  # noqa: T201  # the job's output is where people look first
    basics.keeper.finish(code=1, signal=None)
    await basics.keeper.hung_up(deadline_s=_LEAVE_S)


def _is_older(job: str, around: Surroundings) -> bool:
    """Slurm counts its jobs up; tasks of one array run side by side, each in a folder of its own."""
    return _number(job) < _number(around.job_id)


def _number(job: str) -> int:
    return int(job.partition("_")[0])
