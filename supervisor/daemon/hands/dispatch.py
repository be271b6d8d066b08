"""Which hand carries out which instruction, and the task it runs in."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import structlog

from supervisor.core.events import Event, SignalReceived, Stopped
from supervisor.core.instructions import (
    AskSave,
    AskSlurm,
    CancelJob,
    CheckNodes,
    ChooseCheckpoint,
    Collect,
    Comment,
    Finish,
    Instruction,
    KeepRecord,
    LaunchAttempt,
    ProbeNode,
    PutAway,
    Requeue,
    Say,
    Shrink,
    StopAttempt,
    Submit,
    TellStandby,
)
from supervisor.daemon.hands.ask import ask_slurm, probe
from supervisor.daemon.hands.check import Checker
from supervisor.daemon.hands.checkpoint import choose
from supervisor.daemon.hands.collect import collect
from supervisor.daemon.hands.finish import finish
from supervisor.daemon.hands.launch import launch
from supervisor.daemon.hands.record import Commenter, keep, say
from supervisor.daemon.hands.shrink import shrink
from supervisor.daemon.hands.software import remember
from supervisor.daemon.hands.standby import tell_standby
from supervisor.daemon.hands.stop import stop
from supervisor.daemon.hands.submit import CANCEL_S, cancel_job, requeue, submit
from supervisor.daemon.orders import ask_save, put_away
from supervisor.daemon.world import World

_log = structlog.stdlib.get_logger(__name__)

Deed = Callable[[World, Any], Coroutine[Any, Any, Event | None]]
"""A hand: takes its own kind of instruction, which the table below pairs it with."""

_UNTOLD_S = 1.0
"""A SIGTERM this recent may not have been reported by the keeper, which reads the end first."""
_BUSY_S = 90.0
"""What the keeper is told when a decision with a long deadline is under way after the script's end."""


class Hands:
    """Carries out instructions: at once what cannot wait, each of the others in a task of its own."""

    def __init__(self, world: World, group: asyncio.TaskGroup, checker: Checker, commenter: Commenter) -> None:
        self._world = world
        self._group = group
        self._commenter = commenter
        self._checker = checker
        self._deeds: dict[type[Instruction], Deed] = {
            CheckNodes: checker.check,
            ChooseCheckpoint: choose,
            ProbeNode: probe,
            AskSlurm: ask_slurm,
            AskSave: ask_save,
            Collect: collect,
            StopAttempt: self._stop,
            Shrink: shrink,
            Submit: submit,
            TellStandby: tell_standby,
            Requeue: requeue,
            CancelJob: self._cancel,
            Finish: self._finish,
        }
        self._cancelling: set[asyncio.Task[None]] = set()
        self._unhurried: list[asyncio.Task[None]] = []
        self._end: Finish | None = None
        """The end that the keeper is to be told; None: not decided, or a question has come between."""
        self._is_over = asyncio.Event()

    def carry_out(self, order: Instruction) -> None:
        """Begin; the answer comes as an event."""
        try:
            self._begin(order)
        except Exception:  # noqa: BLE001  # as in `_answered`
            _log.exception("hands.broke", order=type(order).__name__)

    def _begin(self, order: Instruction) -> None:
        world = self._world
        match order:
            case Say():
                world.writer.do(lambda: say(order.text))
            case Comment():
                self._commenter.want(order.text)
            case KeepRecord():
                keep(world, order)
                world.tell_person(order)
            case PutAway():
                put_away(world, order.order)
            case LaunchAttempt():
                launch(world, order)
                recording = self._answered(remember(world, order), "remember")
                self._unhurried.append(self._group.create_task(recording, name="hand[remember]"))
            case _:
                world.keeper.busy(_BUSY_S)
                self._note_end(order)
                name = type(order).__name__
                _log.info("hands.begin", order=name)
                deed = self._deeds[type(order)](world, order)
                self._group.create_task(self._answered(deed, name), name=f"hand[{name}]")

    async def _stop(self, world: World, order: StopAttempt) -> Stopped:
        return await stop(world, order, self._checker.bring_back)

    def let_go(self) -> None:
        """The job ends: nobody needs any more what is only recorded beside an attempt."""
        for task in self._unhurried:
            task.cancel()

    async def over(self) -> None:
        """Wait until the end is decided for good and said, for as long as answers may take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * self._world.settings.slurm_deadline_s):
                await self._is_over.wait()

    def _note_end(self, order: Instruction) -> None:
        """A question after the order to end holds the end back: the machine orders it again, with its answer."""
        match order:
            case Finish():
                self._end = order
            case AskSlurm():
                self._end = None
                self._is_over.clear()
            case _:
                pass

    async def _cancel(self, world: World, order: CancelJob) -> None:
        """Cancel a successor, known to `_finish` until that is done."""
        task = asyncio.create_task(cancel_job(world, order), name="cancel_job")
        self._cancelling.add(task)
        await task
        self._cancelling.discard(task)

    async def _finish(self, world: World, order: Finish) -> None:
        """The last act, after a cancel under way: with the keeper everything of ours ends, and a successor lived on."""
        if world.clock() - world.sigterm_at < _UNTOLD_S:
            world.post(SignalReceived(at=world.sigterm_at, number=signal.SIGTERM))
        if self._cancelling:
            await asyncio.wait(self._cancelling, timeout=CANCEL_S)
        try:
            await finish(world, order, self._commenter, is_wanted=lambda: self._end is order)
        finally:
            if self._end is order:
                world.tell_person(order)
                self._is_over.set()

    async def _answered(self, deed: Coroutine[Any, Any, Event | None], name: str) -> None:
        try:
            event = await deed
        except Exception:  # noqa: BLE001  # a whole component: a hand that breaks must not take the supervisor with it
            _log.exception("hands.broke", order=name)
            return  # the machine's own deadline for this stage takes over
        if event is not None:
            self._world.post(event)
