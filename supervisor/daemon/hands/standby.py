"""What the standby is told, and how it becomes the successor: it begins by itself once this job has failed."""

import structlog

from supervisor.core.instructions import Submit, TellStandby
from supervisor.daemon.hands.again import excluded_and_required
from supervisor.daemon.hands.sender import Sender
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.ids import JobId, NodeName

_log = structlog.stdlib.get_logger(__name__)


async def tell_standby(world: Sender, order: TellStandby) -> None:
    """Where it must not begin. One that cannot be told is told again when it is to go on."""
    await _told(world, order.job_id, order.exclude)


async def use(world: Sender, order: Submit) -> JobId | None:
    """The standby, told where not to begin; None: there is none any more, or nobody knows."""
    if order.standby is None or order.only_look:
        return None
    is_told = await _told(world, order.standby, order.exclude)
    try:
        job = await world.slurm.job(order.standby, deadline_s=world.settings.slurm_deadline_s)
    except (SlurmFailed, NoSlurm) as exc:
        _log.warning("standby.unknown", job=order.standby, reason=exc)
        return None
    if job.state != "PENDING":
        _log.warning("standby.gone", job=order.standby, state=job.state)
        return None
    if not is_told:
        _log.warning("standby.not_told", job=order.standby)
    return order.standby


async def _told(world: Sender, job: JobId, exclude: tuple[NodeName, ...]) -> bool:
    deadline_s = world.settings.slurm_deadline_s
    names, required = await excluded_and_required(world, job, exclude)
    nodes = len(world.around.nodes)
    try:
        await world.slurm.exclude(job, names, nodes=nodes, required=required, deadline_s=deadline_s)
    except (SlurmFailed, NoSlurm) as exc:
        _log.warning("standby.not_told", job=job, reason=exc)
        return False
    return True
