"""Where a job that is in the queue already may not begin: as its user says, and we as far as enough nodes remain."""

import structlog

from supervisor.daemon.hands.sender import Sender
from supervisor.errors import NoSlurm, PayloadRefused, SlurmFailed
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.hostlist import expand
from supervisor.slurm.successor import affordable

_log = structlog.stdlib.get_logger(__name__)


async def excluded_and_required(
    world: Sender, job: JobId, exclude: tuple[NodeName, ...]
) -> tuple[tuple[NodeName, ...], tuple[NodeName, ...]]:
    """The job's excluded and required nodes from now on. Only ours where Slurm does not tell the others."""
    deadline_s = world.settings.slurm_deadline_s
    try:
        facts = await world.slurm.job(job, deadline_s=deadline_s)
        states = await world.slurm.partition_nodes(facts.partition, deadline_s=deadline_s)
        own, required = expand(facts.exclude), expand(facts.required)
    except (SlurmFailed, NoSlurm, PayloadRefused) as exc:
        _log.warning("queued.users_nodes_unknown", job=job, reason=exc)
        return exclude, ()
    room = affordable(exclude, nodes=states, user_excluded=own, needed=len(world.around.nodes))
    return tuple(dict.fromkeys([*own, *room.kept])), tuple(node for node in required if node not in room.kept)
