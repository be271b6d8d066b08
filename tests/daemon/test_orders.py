"""The supervisor finds orders in its run folder, each once, and takes them away once they are recorded."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.core.events import Event, Ordered
from supervisor.core.instructions import AskSave
from supervisor.daemon import orders
from supervisor.daemon.world import World
from supervisor.errors import BrokerFailed
from supervisor.ledger.orders import read_orders, write_order
from supervisor.ledger.writer import Writer
from supervisor.model.ids import AttemptNo
from supervisor.model.order import PersonOrder
from supervisor.model.wire import SaveAndStop
from supervisor.settings import Settings


def _order(number: str) -> PersonOrder:
    return PersonOrder(id=number, at=1.0, by="alice", what="resume")


@pytest.fixture
def posted() -> list[Event]:
    return []


@pytest.fixture
def world(tmp_path: Path, posted: list[Event], monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(orders, "_EVERY_S", 0.01)
    made = SimpleNamespace(folder=tmp_path, clock=lambda: 7.0, post=posted.append, writer=Writer(), settings=Settings())
    made.attempt_folder = lambda number: tmp_path / str(number)
    return cast("World", made)


async def _until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not done():  # noqa: ASYNC110  # the code under test tells nobody
            await asyncio.sleep(0.01)


async def test_each_order_is_posted_once(world: World, posted: list[Event]) -> None:
    """However often its file is seen before it goes."""
    write_order(world.folder, _order("1-a"))
    task = asyncio.create_task(orders.watch_orders(world))
    await _until(lambda: posted)
    write_order(world.folder, _order("2-b"))
    await _until(lambda: len(posted) > 1)
    await asyncio.sleep(0.1)
    task.cancel()
    assert posted == [Ordered(at=7.0, order=_order("1-a")), Ordered(at=7.0, order=_order("2-b"))]


async def test_a_folder_that_cannot_be_read_is_looked_at_again(
    world: World, posted: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filesystem that is away for a moment costs no order."""
    write_order(world.folder, _order("1-a"))
    real, fails = read_orders, iter([True, True])

    def read(folder: Path) -> list[PersonOrder]:
        if next(fails, False):
            raise OSError("stale")
        return real(folder)

    monkeypatch.setattr(orders, "read_orders", read)
    task = asyncio.create_task(orders.watch_orders(world))
    await _until(lambda: posted)
    task.cancel()


async def test_it_goes_when_it_is_put_away(world: World) -> None:
    """By the writer, behind the event that records it."""
    write_order(world.folder, _order("1-a"))
    orders.put_away(world, "1-a")
    assert await world.writer.flushed(30)
    assert read_orders(world.folder) == []


@pytest.mark.parametrize("is_away", [False, True])
async def test_ranks_are_asked_through_the_agents(world: World, *, is_away: bool) -> None:
    """A broker that is away costs the question, never the supervisor."""
    said: list[tuple[object, object, object]] = []

    async def command(node: object, message: object, *, attempt: object) -> None:
        if is_away:
            raise BrokerFailed("away")
        said.append((node, message, attempt))

    world.hub = cast("Any", SimpleNamespace(command=command))
    await orders.ask_save(world, AskSave(attempt=AttemptNo(3)))
    assert said == ([] if is_away else [(None, SaveAndStop(ask="save-3"), 3)])


async def test_ranks_are_asked_by_signal_and_file_where_that_is_wanted(world: World) -> None:
    """The file needs no broker."""
    said: list[object] = []

    async def command(_node: object, message: object, **_: object) -> None:
        said.append(message)
        raise BrokerFailed("away")

    world.hub = cast("Any", SimpleNamespace(command=command))
    await orders.ask_save(world, AskSave(attempt=AttemptNo(3)))
    assert await world.writer.flushed(30)
    assert not orders.save_file(world, AttemptNo(3)).exists()
    world.settings = Settings(save_signal="USR1", save_file=True)
    await orders.ask_save(world, AskSave(attempt=AttemptNo(3)))
    assert await world.writer.flushed(30)
    assert said[1] == SaveAndStop(ask="save-3", signal=10)
    assert orders.save_file(world, AttemptNo(3)).exists()
