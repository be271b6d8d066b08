"""Questions: to Slurm about job and nodes, and to a node's slurmd directly."""

import asyncio
import os
from contextlib import suppress

import structlog

from supervisor.core.events import NodeProbed, SlurmReported
from supervisor.core.instructions import AskSlurm, ProbeNode
from supervisor.daemon.world import World
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.ids import NodeName

_log = structlog.stdlib.get_logger(__name__)

_PROBE_S = 0.8
_LATE_S = 0.5
_HEARD_S = 1.6
"""Another node heard this recently proves that our own network works: agents speak once a second."""


async def ask_slurm(world: World, _: AskSlurm) -> SlurmReported:
    """Ask once; a failed query says that nothing is known."""
    deadline_s = world.settings.slurm_deadline_s
    try:
        async with asyncio.timeout(deadline_s):
            job = await world.slurm.job(world.around.job_id, deadline_s=deadline_s)
            nodes = await world.slurm.nodes(world.around.nodes, deadline_s=deadline_s)
    except (SlurmFailed, NoSlurm, TimeoutError) as exc:
        _log.info("slurm.no_answer", reason=exc)
        return SlurmReported(at=world.clock(), job=None)
    return SlurmReported(at=world.clock(), job=job, nodes=nodes)


async def probe(world: World, order: ProbeNode) -> NodeProbed:
    """Connect to the node's slurmd. A refusal or silence counts only while somebody else is heard."""
    address = await _address(world, order.node)
    if address is None:
        return _probed(world, order.node, "unknown", "its address is not known")
    loop = asyncio.get_running_loop()
    began = loop.time()
    text = await _connect(*address)
    if text is None:
        return _probed(world, order.node, "alive", "its slurmd accepts connections")
    if loop.time() - began > _PROBE_S + _LATE_S:
        # Ranks come first, and this process may get no core for seconds: then its own clock proves nothing.
        return _probed(world, order.node, "unknown", f"slurmd {text}, but this process was late itself")
    if _is_other_heard(world, order.node):
        return _probed(world, order.node, "dead", f"slurmd {text}")
    if (await ask_slurm(world, AskSlurm())).job is not None:
        return _probed(world, order.node, "dead", f"slurmd {text}, while slurmctld answers")
    return _probed(world, order.node, "unknown", f"slurmd {text}, and nobody else is heard either")


def _probed(world: World, node: NodeName, answer: str, text: str) -> NodeProbed:
    return NodeProbed(at=world.clock(), node=node, answer=answer, text=text)  # type: ignore[arg-type]  # three words


def _is_other_heard(world: World, node: NodeName) -> bool:
    now = world.clock()
    others = (name for name in world.around.nodes if name not in {node, world.around.here})
    return any((heard := world.roster.heard(name)) is not None and now - heard <= _HEARD_S for name in others)


async def _address(world: World, node: NodeName) -> tuple[str, int] | None:
    said = world.roster.address(node)
    if said:
        host, _, port = said.rpartition(":")
        return host, int(port)
    try:
        return await world.slurm.node_address(node, deadline_s=world.settings.slurm_deadline_s)
    except (SlurmFailed, NoSlurm):
        return None


async def _connect(host: str, port: int) -> str | None:
    """None when the connection was accepted, else what happened."""
    try:
        async with asyncio.timeout(_PROBE_S):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"gives no answer within {_PROBE_S:.1f} s"
    except OSError as exc:
        return f"refuses ({os.strerror(exc.errno) if exc.errno else exc})"
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PROBE_S):
            await writer.wait_closed()
    return None
