"""The agent at work: says what it sees once per second, does what it is told, fences when it must."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from supervisor.agent import fence
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
    Fenced,
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
_ALL: Final = AttemptNo(2**31 - 1)
"""No attempt is newer."""


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
        self._attempt = AttemptNo(0)
        self._mourned: set[tuple[AttemptNo, Rank, int]] = set()
        self._errands: set[asyncio.Task[None]] = set()

    async def run(self, leave: asyncio.Event, *, pid: int) -> None:
        """Work until told to leave; then say so and go. Raises what ends the link for good."""
        async with self._link:
            async with asyncio.TaskGroup() as group:
                parts = [
                    group.create_task(_kept_up("beat", self._beat), name=f"beat[{self._node}]"),
                    group.create_task(_kept_up("lease", self._watch_lease), name=f"lease[{self._node}]"),
                    group.create_task(self._obey(group), name=f"commands[{self._node}]"),
                ]
                facts = await self._senses.check.facts(self._config.folders, deadline_s=_FACTS_S)
                self._link.send(_with(self._up, pid=pid, facts=facts))
                await leave.wait()
                for task in (*parts, *self._errands):
                    task.cancel()
            self._link.send(_with(self._up, pid=pid, state="down"))
        await self._clear_away()

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
        except Exception as error:  # noqa: BLE001 - a command that cannot be done stays unanswered; the agent lives on
            _complain(f"{type(command).__name__} {command.ask}", error)

    async def _watch_lease(self) -> None:
        """Kill the ranks once nobody was to be heard for the whole lease."""
        lease_s = self._config.lease_s
        now = time.monotonic()
        watch = fence.Watch(silent_since=now, looked_at=now)
        while True:
            await asyncio.sleep(fence.pause_s(lease_s=lease_s))
            is_any_sign = await self._is_any_sign(since=watch.looked_at)
            watch = fence.look(watch, now=time.monotonic(), is_any_sign=is_any_sign, lease_s=lease_s)
            is_batch_host = self._node == self._senses.lease.batch_host
            if fence.is_cut_off(watch, lease_s=lease_s, is_batch_host=is_batch_host):
                await self._fence()

    async def _is_any_sign(self, *, since: float) -> bool:
        """Asked in the order of cost: the bus knows already, the file is one read, the probe a connection."""
        heard = self._link.last_heard
        if heard is not None and heard > since:
            return True
        deadline_s = fence.question_s(lease_s=self._config.lease_s)
        lease = self._senses.lease
        return await lease.is_renewed(deadline_s=deadline_s) or await lease.is_slurmd_there(deadline_s=deadline_s)

    async def _fence(self) -> None:
        try:
            doomed = await self._senses.watcher.look()
            if not doomed:
                return
            command = StopRanks(ask="fence", attempt=_ALL, grace_s=0.0)
            left = await stop_ranks(command, node=self._node, scan=self._senses.watcher.look, send=send_signal)
        except TimeoutError as error:
            _complain("fence", error)  # and again at the next look at the lease
            return
        killed = len(doomed) - len(left.left)
        print(f"supervise: {self._node} is cut off: killed {killed} processes", file=sys.stderr, flush=True)  # noqa: T201
        fenced = Fenced(node=self._node, at=time.time(), attempt=self._attempt, killed=max(0, killed))
        self._link.send(fenced, attempt=self._attempt)

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
