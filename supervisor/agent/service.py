"""The agent at work: says what it sees once per second, does what it is told, fences when it must."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from supervisor.agent import save
from supervisor.agent.guard import Guard
from supervisor.agent.lease import Lease
from supervisor.agent.pace import until_turn
from supervisor.agent.processes import Process, send_signal
from supervisor.agent.stop import stop_ranks
from supervisor.agent.watcher import Watcher
from supervisor.beat.pages import Pages
from supervisor.bus.protocol import AgentLink
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import AttemptNo, NodeName, Rank
from supervisor.model.wire import (
    Beats,
    CheckNode,
    RankBeat,
    RankGone,
    SaveAndStop,
    Status,
    StopRanks,
    TellBeats,
    ToAgent,
)
from supervisor.selftest.tier0 import NodeCheck

_FACTS_S: Final = 2.0
"""For the facts in the first report: a hanging mount must not make this node late."""
_LEAVE_S: Final = 3.0
"""How long a leaving agent waits for the run's last processes, to take the beat pages away behind them."""
_AGAIN_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Senses:
    """What the agent sees this node with."""

    watcher: Watcher
    pages: Pages
    check: NodeCheck
    lease: Lease


class Agent:
    """One node's agent. Its parts do not stop each other: one that fails is reported on stderr and begun again."""

    def __init__(
        self, config: AgentConfig, node: NodeName, link: AgentLink, senses: Senses, *, address: str = ""
    ) -> None:
        self._config = config
        self._node = node
        self._link = link
        self._senses = senses
        self._up = Status(node=node, state="up", started_at=time.time(), address=address)
        self._guard = Guard(config, node, link, senses.lease, senses.watcher)
        self._attempt = AttemptNo(0)
        self._asked = save.Asked()
        self._mourned: set[tuple[AttemptNo, Rank, int]] = set()
        self._errands: set[asyncio.Task[None]] = set()

    async def run(self, leave: asyncio.Event, *, pid: int) -> None:
        """Work until told to leave; then say so and go. Raises what ends the link for good."""
        async with self._link:
            async with asyncio.TaskGroup() as group:
                parts = [
                    group.create_task(_kept_up("beat", self._beat), name=f"beat[{self._node}]"),
                    group.create_task(_kept_up("guard", self._guard.run), name=f"guard[{self._node}]"),
                    group.create_task(self._obey(group), name=f"commands[{self._node}]"),
                ]
                facts = await self._senses.check.facts(self._config.folders, deadline_s=_FACTS_S)
                self._link.send(_with(self._up, pid=pid, facts=facts))
                await leave.wait()
                for task in (*parts, *self._errands):
                    task.cancel()
            self._link.send(_with(self._up, pid=pid, state="down"))
        await self._clear_away()

    def left_at_once(self) -> bool:
        """Told to leave: whether it has left already, because nobody is there to hear its last words.

        A successor waits for the nodes, and the connection to a dead broker can take seconds to be given up.
        """
        if self._guard.is_orphaned:
            self._senses.pages.remove()
        return self._guard.is_orphaned

    async def _beat(self) -> None:
        """Once per second, at this node's own moment of it: the node's sign of life and its ranks'."""
        while True:
            await asyncio.sleep(until_turn(time.time(), self._node, self._config.nodes))
            await self._tell_beats()

    async def _tell_beats(self) -> None:
        processes = await self._senses.watcher.glance()
        ranks = self._senses.pages.read(now=time.monotonic())
        newest = max((process.attempt for process in processes), default=AttemptNo(0))
        if newest > self._senses.pages.attempt:
            ranks = ()  # the pages are an older attempt's
        self._attempt = max(newest, self._senses.pages.attempt)
        self._say(processes, ranks)

    def _say(self, processes: Sequence[Process], ranks: tuple[RankBeat, ...]) -> None:
        count = sum(process.attempt == self._attempt and process.is_task for process in processes)
        now = time.time()
        beats = Beats(node=self._node, at=now, attempt=self._attempt, processes=count, ranks=ranks)
        self._link.send(beats, attempt=self._attempt)
        for beat in ranks:
            name = (self._attempt, beat.rank, beat.pid)
            if not beat.is_alive and name not in self._mourned:
                self._mourned.add(name)
                gone = RankGone(
                    node=self._node,
                    at=now,
                    attempt=self._attempt,
                    rank=beat.rank,
                    pid=beat.pid,
                    step=beat.step,
                    has_ended=beat.has_ended,
                )
                self._link.send(gone, attempt=self._attempt)

    async def _obey(self, group: asyncio.TaskGroup) -> None:
        """Each command in a task of its own: a slow one holds no other up."""
        async for command in self._link.commands():
            errand = group.create_task(self._do(command), name=f"{type(command).__name__}[{command.ask}]")
            self._errands.add(errand)
            errand.add_done_callback(self._errands.discard)

    async def _do(self, command: ToAgent) -> None:
        try:
            match command:
                case StopRanks():
                    scan = self._senses.watcher.look
                    stopped = await stop_ranks(command, node=self._node, scan=scan, send=send_signal)
                    self._link.send(stopped, attempt=command.attempt)
                case CheckNode():
                    self._link.send(await self._senses.check.answer(self._node, command))
                case TellBeats():
                    await self._tell_beats()
                case SaveAndStop():
                    self._senses.pages.ask_to_stop()
                    await self._signal_ranks(command.signal)
        except Exception as error:  # noqa: BLE001 - a command that cannot be done stays unanswered; the agent lives on
            _complain(f"{type(command).__name__} {command.ask}", error)

    async def _signal_ranks(self, number: int) -> None:
        if not number:
            return
        processes = await self._senses.watcher.look()
        ranks = {beat.pid for beat in self._senses.pages.read(now=time.monotonic()) if beat.is_alive}
        newest = max((process.attempt for process in processes), default=AttemptNo(0))
        for process in self._asked.anew(save.asked(processes, attempt=newest, ranks=ranks)):
            send_signal(process, number)

    async def _clear_away(self) -> None:
        """Take the beat pages away, unless ranks go on living: then the next agent needs them."""
        ends = time.monotonic() + _LEAVE_S
        while time.monotonic() < ends:
            with suppress(TimeoutError):
                if not await self._senses.watcher.look():
                    self._senses.pages.remove()
                    return
            await asyncio.sleep(0.1)
        self._senses.pages.close()


async def _kept_up(name: str, part: Callable[[], Awaitable[None]]) -> None:
    told = ""
    while True:
        try:
            await part()
        except Exception as error:  # noqa: BLE001 - around a whole part: the others must not end with it
            if told != repr(error):  # all agents write to one file, and this may go on for days
                told = repr(error)
                _complain(name, error)
            await asyncio.sleep(_AGAIN_S)


def _complain(what: str, error: Exception) -> None:
    print(f"supervise agent: {what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)  # noqa: T201


def _with(status: Status, **changes: object) -> Status:
    return msgspec.structs.replace(status, **changes)
