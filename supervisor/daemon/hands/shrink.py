"""Takes nodes out of the job, so that no launcher can reach them."""

from supervisor.core.events import Shrunk
from supervisor.core.instructions import Shrink
from supervisor.daemon.world import World
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.ids import NodeName


async def shrink(world: World, order: Shrink) -> Shrunk:
    """Whether Slurm took the nodes out."""
    deadline_s = world.settings.slurm_deadline_s
    try:
        await world.slurm.shrink(world.around.job_id, order.keep, deadline_s=deadline_s)
    except (SlurmFailed, NoSlurm) as exc:
        # A timeout, or an order that a supervisor before this one carried out: Slurm is asked what is true.
        is_done = await _is_done(world, order.drop, deadline_s)
        text = "" if is_done else str(exc)
        is_heard = is_done is not None
        return Shrunk(at=world.clock(), dropped=order.drop, ok=bool(is_done), is_heard=is_heard, text=text)
    return Shrunk(at=world.clock(), dropped=order.drop, ok=True)


async def _is_done(world: World, drop: tuple[NodeName, ...], deadline_s: float) -> bool | None:
    """None: Slurm does not say."""
    try:
        job = await world.slurm.job(world.around.job_id, deadline_s=deadline_s)
    except (SlurmFailed, NoSlurm):
        return None
    return bool(job.nodes) and not set(job.nodes) & set(drop)
