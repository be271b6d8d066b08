"""Tier 0's agents: started where they miss, and never beside one that is only not heard yet."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from supervisor.core.instructions import CheckNodes
from supervisor.daemon.answers import Answers
from supervisor.daemon.hands.check import Checker
from supervisor.daemon.world import World
from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.wire import Checked, CheckNode, NodeFacts
from supervisor.settings import Settings

_N1, _N2 = NodeName("n1"), NodeName("n2")


class _World:
    """Agents that answer at once when they are up."""

    def __init__(self, *up: NodeName) -> None:
        self.settings = Settings(check_deadline_s=30.0)
        self.answers = Answers()
        self.folders = ()
        self.hub = self
        self.heard = set(up)
        self.started: list[list[NodeName]] = []
        self.roster = SimpleNamespace(
            up=lambda: tuple(self.heard), address=lambda _: "", attempt=AttemptNo(0), facts=NodeFacts()
        )

    def clock(self) -> float:
        return 5.0

    async def command(self, node: NodeName, command: CheckNode, *, attempt: AttemptNo) -> None:
        assert attempt == 0
        self.answers.arrived(Checked(node=node, ask=command.ask, facts=NodeFacts()))

    async def start(self, missing: list[NodeName]) -> None:
        self.started.append(missing)
        self.heard.update(missing)

    async def check(self, checker: Checker) -> tuple[NodeName, ...]:
        order = CheckNodes(ask="check-1", nodes=(_N1, _N2))
        return (await checker.check(cast("World", self), order)).silent


async def test_missing_agents_are_started_together() -> None:
    """One step for all of them, at once where no earlier supervisor had any."""
    world = _World(_N1)
    assert await world.check(Checker(cast("Any", world))) == ()
    assert world.started == [[_N2]]


async def test_after_a_takeover_agents_are_listened_for_first() -> None:
    """They live on when a supervisor is killed: a second one on each node would fight with the first."""
    world = _World()
    asyncio.get_running_loop().call_later(0.2, world.heard.update, (_N1, _N2))
    assert await world.check(Checker(cast("Any", world), rediscovery_s=60.0)) == ()
    assert world.started == []


async def test_who_is_not_heard_after_a_takeover_is_started() -> None:
    """Agents die, too."""
    world = _World(_N1)
    assert await world.check(Checker(cast("Any", world), rediscovery_s=0.3)) == ()
    assert world.started == [[_N2]]
