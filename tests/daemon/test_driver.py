"""The machine's surroundings: what reaches the log, and when the log begins anew."""

import asyncio

from supervisor.core.events import AgentSilent, SupervisorStarted
from supervisor.core.machine import replay
from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.daemon.driver import Driver
from supervisor.settings import Settings
from tests.core.facts import node
from tests.core.harness import World


class _Log:
    """A log that is long after so many events."""

    def __init__(self, limit: int) -> None:
        self.kept: list[Recorded] = []
        self.limit = limit
        self.anew = 0

    def append(self, event: Recorded) -> None:
        self.kept.append(event)

    @property
    def is_long(self) -> bool:
        return len(self.kept) > self.limit

    def begin_anew(self, snapshot: Snapshot) -> None:
        self.kept = [snapshot]
        self.anew += 1

    async def flushed(self, deadline_s: float) -> bool:
        return deadline_s > 0


async def test_a_long_log_begins_anew_with_the_state_at_that_moment() -> None:
    """A node that comes and goes for days fills no disk, and a replay comes to the same state."""
    world, log = World().start(), _Log(limit=20)
    driver = Driver(
        state=world.state,
        settings=Settings(),
        log=log,
        clock=lambda: 0.0,
        carry_out=lambda _: None,
        restarts=3,
    )
    log.kept = list(world.log)
    running = asyncio.create_task(driver.run())
    for number in range(100):
        at = world.at + number
        driver.post(AgentSilent(at=at, node=node(2 + number % 3), how="silent", last_heard=at))
        driver.post(SupervisorStarted(at=at, generation=number + 2))
    await asyncio.wait({running}, timeout=1.0)
    running.cancel()
    await asyncio.wait({running})
    assert driver._queue.empty()
    assert log.anew > 5
    assert len(log.kept) <= 21
    first = log.kept[0]
    assert isinstance(first, Snapshot)
    assert first.restarts == 3
    assert replay(log.kept, Settings()) == driver.state


async def test_what_the_end_stirs_up_is_not_recorded() -> None:
    """The machine still listens for a cancel while the agents end: their silence belongs to no story."""
    world, log = World().start().exit(0), _Log(limit=1000)
    driver = Driver(
        state=world.state, settings=Settings(), log=log, clock=lambda: 0.0, carry_out=lambda _: None, restarts=0
    )
    running = asyncio.create_task(driver.run())
    driver.post(AgentSilent(at=world.at, node=node(2), how="step_ended", last_heard=world.at))
    await asyncio.wait({running}, timeout=0.1)
    running.cancel()
    await asyncio.wait({running})
    assert driver._queue.empty()
    assert log.kept == []
