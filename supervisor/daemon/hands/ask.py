"""Questions: to Slurm about job and nodes, and to a node's slurmd directly."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import structlog

from supervisor.core.events import NodeProbed, SlurmReported
from supervisor.core.instructions import AskSlurm, ProbeNode
from supervisor.daemon.world import World
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.ids import NodeName
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_PROBE_S = 0.8
_LATE_S = 0.5
_RESOLVE_S = 2.0
"""For the name service, where the agent has not said its node's address as numbers."""
_HEARD_S = 1.6
"""Another node heard this recently proves that our own network works: agents speak once a second."""


async def ask_slurm(world: World, _: AskSlurm) -> SlurmReported:
    """Ask once; a failed query says that nothing is known."""
    deadline_s = world.settings.slurm_deadline_s
    try:
        async with asyncio.timeout(deadline_s):
            # Side by side: a slow slurmctld may need most of the time for one answer, and half of it is none.
            job, nodes = await asyncio.gather(
                world.slurm.job(world.around.job_id, deadline_s=deadline_s),
                world.slurm.nodes(world.around.nodes, deadline_s=deadline_s),
            )
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


async def _address(world: World, node: NodeName) -> tuple[list[str], int] | None:
    """Where its slurmd listens, as numbers. None where nobody tells: that is no word of the node's."""
    said = world.roster.address(node)
    try:
        if said:
            host, _, number = said.rpartition(":")
            port = int(number)
        else:
            host, port = await world.slurm.node_address(node, deadline_s=world.settings.slurm_deadline_s)
        return await aside(partial(_resolved, host, port), deadline_s=_RESOLVE_S, name="lookup"), port
    except (SlurmFailed, NoSlurm, OSError, ValueError) as exc:  # `TimeoutError` and the resolver's own are OSErrors
        _log.info("probe.no_address", node=node, reason=exc)
        return None


def _resolved(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def _connect(addresses: Sequence[str], port: int) -> str | None:
    """None when one of them accepted the connection, else what happened."""
    try:
        async with asyncio.timeout(_PROBE_S):
            writer = await _first_open(addresses, port)
    except TimeoutError:
        return f"gives no answer within {_PROBE_S:.1f} s"
    except OSError as exc:
        return f"refuses ({os.strerror(exc.errno) if exc.errno else exc})"
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PROBE_S):
            await writer.wait_closed()
    return None


async def _first_open(addresses: Sequence[str], port: int) -> asyncio.StreamWriter:
    """The first of the connections that is accepted; raises what the last one met."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return (await asyncio.open_connection(address, port))[1]
    return (await asyncio.open_connection(addresses[-1], port))[1]
