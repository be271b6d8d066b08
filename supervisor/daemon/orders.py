"""Looks for what persons order of the running job (`supervise halt`, `mode`, `exclude`, ...)."""

import asyncio
import signal
from pathlib import Path
from typing import Final

import structlog

from supervisor.core.events import Ordered
from supervisor.core.instructions import AskSave
from supervisor.daemon.world import World
from supervisor.errors import BrokerFailed
from supervisor.ledger.orders import read_orders, remove_order
from supervisor.model.ids import AttemptNo
from supervisor.model.wire import SaveAndStop
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_EVERY_S: Final = 2.0
_DEADLINE_S: Final = 5.0
"""For one look into the run folder."""


async def watch_orders(world: World) -> None:
    """Post each order once; the machine answers it once, whoever reads it again after a takeover."""
    posted: set[str] = set()
    while True:
        await asyncio.sleep(_EVERY_S)
        try:
            found = await aside(lambda: read_orders(world.folder), deadline_s=_DEADLINE_S, name="orders")
        except (OSError, TimeoutError) as exc:
            _log.info("orders.unread", reason=exc)
            continue
        for order in found:
            if order.id not in posted:
                posted.add(order.id)
                world.post(Ordered(at=world.clock(), order=order))


def put_away(world: World, number: str) -> None:
    """After the event is on disk, which goes the same way: an order is neither lost nor carried out twice."""
    world.writer.do(lambda: remove_order(world.folder, number))


def save_file(world: World, attempt: AttemptNo) -> Path:
    """The file that asks this attempt to save and stop: `SUPERVISE_SAVE_FILE`."""
    return world.attempt_folder(attempt) / "save"


async def ask_save(world: World, order: AskSave) -> None:
    """Through the agents, and by the file where that is wanted; a broker that is away costs the one, not the other."""
    name = world.settings.save_signal
    command = SaveAndStop(ask=f"save-{order.attempt}", signal=0 if name == "none" else signal.Signals[f"SIG{name}"])
    if world.settings.save_file:
        world.writer.write(save_file(world, order.attempt), b"save and stop\n")
    try:
        await world.hub.command(None, command, attempt=order.attempt)
    except BrokerFailed as exc:
        _log.warning("save.not_asked", reason=exc)
