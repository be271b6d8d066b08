"""What the tests of the bus share: waiting for a condition, brokers on loopback, one message of each kind."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from supervisor.bus.broker import Broker
from supervisor.bus.credentials import Secrets
from supervisor.bus.protocol import HubLink
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import AttemptNo, JobId, NodeName, Rank, RunId
from supervisor.model.wire import Beats, CheckNode, FromAgent, RankBeat, Status, StopRanks

RUN = RunId("llama-ab12c")
NODE = NodeName("node001")
OTHER = NodeName("node002")
FIRST = AttemptNo(1)
LONG_S = 45.0
"""For anything real on a busy machine with two cores."""


async def until(condition: Callable[[], bool], *, deadline_s: float = LONG_S) -> float:
    """Seconds until the condition holds; fails when it does not in time."""
    start = time.monotonic()
    async with asyncio.timeout(deadline_s):
        while not condition():  # noqa: ASYNC110 - processes and files are watched, which are no events here
            await asyncio.sleep(0.01)
    return time.monotonic() - start


class Heard:
    """Collects what a hub receives."""

    def __init__(self, hub: HubLink) -> None:
        self.messages: list[FromAgent] = []
        self._source = hub.received()
        self._task = asyncio.create_task(self._collect(self._source), name="heard")

    async def _collect(self, source: AsyncIterator[FromAgent]) -> None:
        async for message in source:
            self.messages.append(message)

    def of(self, kind: type[FromAgent], node: NodeName = NODE) -> list[FromAgent]:
        """The messages of one kind from one node."""
        return [message for message in self.messages if isinstance(message, kind) and message.node == node]

    async def first(self, kind: type[FromAgent], node: NodeName = NODE) -> FromAgent:
        """The first of a kind, waited for."""
        await until(lambda: bool(self.of(kind, node)))
        return self.of(kind, node)[0]

    def statuses(self, node: NodeName = NODE) -> list[str]:
        """The states in the order in which they were heard."""
        return [message.state for message in self.messages if isinstance(message, Status) and message.node == node]

    async def ended(self) -> None:
        """Returns when the hub has no more to give."""
        async with asyncio.timeout(LONG_S):
            await self._task

    async def stop(self) -> None:
        """Listen no more."""
        self._task.cancel()
        await asyncio.wait({self._task})


def new_broker(folder: Path, secrets: Secrets, *, lives_with: int | None = None, ports: range | None = None) -> Broker:
    """A broker of the run, not yet started."""
    return Broker(folder / "broker", run=RUN, secrets=secrets, lives_with=lives_with or os.getpid(), ports=ports)


def config_for(broker: Broker, secrets: Secrets) -> AgentConfig:
    """What an agent of this broker is told."""
    return config_at(secrets, broker.port)


def config_at(secrets: Secrets, port: int, *, run_dir: str = "") -> AgentConfig:
    """What an agent of a broker on this port is told."""
    return AgentConfig(
        run_id=RUN,
        job_id=JobId("17"),
        nodes=(NODE, OTHER),
        broker_host=secrets.address,
        broker_port=port,
        user=secrets.user,
        password=secrets.password,
        ca_pem=secrets.certificate_pem,
        batch_host=NODE,
        run_dir=run_dir,
    )


def up(node: NodeName = NODE) -> Status:
    """An agent's first word."""
    return Status(node=node, state="up", pid=os.getpid(), started_at=1.0)


def beats(count: int = 1, *, node: NodeName = NODE, ranks: int = 1) -> Beats:
    """A node's beat of this many ranks."""
    each = RankBeat(rank=Rank(0), pid=4711, step=count, phase="step", count=count, age_s=0.25, is_alive=True, loss=2.5)
    told = tuple(msgspec.structs.replace(each, rank=Rank(rank)) for rank in range(ranks))
    return Beats(node=node, at=float(count), attempt=FIRST, processes=ranks, ranks=told)


def stop_ranks(ask: str = "ask-1") -> StopRanks:
    """A command."""
    return StopRanks(ask=ask, attempt=FIRST, grace_s=1.0)


def check_node(ask: str = "ask-2") -> CheckNode:
    """Another command."""
    return CheckNode(ask=ask)
