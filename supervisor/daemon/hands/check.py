"""Tier 0 before a launch: agents where they miss, the same questions to each node, one judgement."""

import asyncio
from collections.abc import Sequence

from supervisor.core.events import NodesChecked
from supervisor.core.instructions import CheckNodes
from supervisor.daemon.agent_steps import AgentSteps
from supervisor.daemon.until import until
from supervisor.daemon.world import World
from supervisor.errors import BrokerFailed
from supervisor.model.ids import NodeName
from supervisor.model.wire import Checked, CheckNode
from supervisor.selftest.compare import judge

_POLL_S = 0.02
_PEERS = 2
"""Ring neighbours that each node must reach: a cut between any two groups of nodes shows, at two connections a node."""


class Checker:
    """Runs tier 0; knows how to get agents."""

    def __init__(self, agents: AgentSteps, *, rediscovery_s: float = 0.0) -> None:
        """`rediscovery_s`: how long agents of an earlier supervisor may take to be heard by this one."""
        self._agents = agents
        self._rediscovered_at = asyncio.get_running_loop().time() + rediscovery_s

    async def bring_back(self, world: World, nodes: Sequence[NodeName], deadline_s: float) -> None:
        """Start the agents that these nodes miss; returns when all are heard, or after the deadline."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + deadline_s

        def are_all_up() -> bool:
            return set(nodes) <= set(world.roster.up())

        # Not heard yet is not missing: a second agent on each node would be the answer to our own death.
        if not await until(are_all_up, deadline_s=self._rediscovered_at - loop.time(), every_s=_POLL_S):
            await self._agents.start([name for name in nodes if name not in world.roster.up()])
            await until(are_all_up, deadline_s=ends - loop.time(), every_s=_POLL_S)

    async def check(self, world: World, order: CheckNodes) -> NodesChecked:
        """The judgement on every asked node within the deadline; who does not answer is in `silent`."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + world.settings.check_deadline_s
        await self.bring_back(world, order.nodes, world.settings.check_deadline_s)
        present = [name for name in order.nodes if name in world.roster.up()]
        answers = await _ask(world, order.ask, present, max(0.5, ends - loop.time()))
        good, bad, silent = judge(answers, order.nodes)
        return NodesChecked(at=world.clock(), ask=order.ask, good=tuple(good), bad=dict(bad), silent=tuple(silent))


async def _ask(world: World, ask: str, nodes: list[NodeName], deadline_s: float) -> dict[NodeName, Checked]:
    world.answers.expect(ask, nodes)
    ring = _ring(world, nodes)
    for name in nodes:
        command = CheckNode(ask=ask, folders=world.folders, peers=ring[name], deadline_s=max(0.5, deadline_s - 0.5))
        try:
            await world.hub.command(name, command, attempt=world.roster.attempt)
        except BrokerFailed:
            break  # nobody will answer: all are silent, and the machine decides what that means
    answers = await world.answers.collect(ask, deadline_s=deadline_s)
    return {name: answer for name, answer in answers.items() if isinstance(answer, Checked)}


def _ring(world: World, nodes: list[NodeName]) -> dict[NodeName, tuple[str, ...]]:
    """Which addresses each node has to reach: those of the nodes after it."""
    peers = {}
    for index, name in enumerate(nodes):
        after = [nodes[(index + step) % len(nodes)] for step in range(1, _PEERS + 1)]
        peers[name] = tuple(
            sorted({address for other in after if other != name and (address := world.roster.address(other))})
        )
    return peers
