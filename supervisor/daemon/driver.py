"""The machine's surroundings: one queue of events, one consumer, instructions handed on in order."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from supervisor.core.events import Event, Tick
from supervisor.core.instructions import Finish, Instruction, LaunchAttempt, Requeue, Shrink, StopAttempt, Submit
from supervisor.core.log_policy import LogPolicy
from supervisor.core.machine import handle
from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.core.state import Stage, State
from supervisor.daemon.clock import Clock
from supervisor.settings import Settings

_DECISIONS = (LaunchAttempt, StopAttempt, Shrink, Submit, Requeue, Finish)
_FLUSH_S = 2.0
"""For the log to reach the disk before a decision is carried out; a full disk must not stop the run."""


class Log(Protocol):
    """Where events are kept."""

    def append(self, event: Recorded) -> None:
        """Keep the event; never blocks."""

    @property
    def is_long(self) -> bool:
        """It should begin anew."""

    def begin_anew(self, snapshot: Snapshot) -> None:
        """Let the log begin with this; never blocks."""

    async def flushed(self, deadline_s: float) -> bool:
        """Whether all that was appended is on disk."""


class Driver:
    """Feeds the pure machine and hands its instructions on."""

    def __init__(
        self,
        *,
        state: State,
        settings: Settings,
        log: Log,
        clock: Clock,
        carry_out: Callable[[Instruction], None],
        restarts: int = 0,
    ) -> None:
        self.state = state
        self._restarts = restarts
        self._settings = settings
        self._log = log
        self._clock = clock
        self._carry_out = carry_out
        self._policy = LogPolicy()
        self.on_change: Callable[[State], None] = lambda _: None
        """Called after each event that changed the state or led to an instruction."""
        # Unbounded on purpose: its sources are bounded (one beat message per node and second leads to at most a few
        # events), and an event that is dropped would be a decision not taken.
        self._queue: asyncio.Queue[Event] = asyncio.Queue()

    def post(self, event: Event) -> None:
        """Something happened. May be called from any task of the loop."""
        self._queue.put_nowait(event)

    async def run(self) -> None:
        """Handle events for ever; ends by cancellation."""
        while True:
            await self._step(await self._queue.get())

    async def tick(self, *, every_s: float = 0.5) -> None:
        """Post the passing of time for ever."""
        while True:
            await asyncio.sleep(every_s)
            self.post(Tick(at=self._clock()))

    async def _step(self, event: Event) -> None:
        before = self.state
        self.state, instructions = handle(before, event, self._settings)
        if before.stage is not Stage.FINISHED or self.state is not before:  # what the agents' end stirs up is no news
            for kept in self._policy.kept(event, decides=bool(instructions)):
                self._log.append(kept)
        if self._log.is_long:
            self._log.begin_anew(Snapshot(at=event.at, restarts=self._restarts, state=self.state))
        if any(isinstance(instruction, _DECISIONS) for instruction in instructions):
            await self._log.flushed(_FLUSH_S)
        for instruction in instructions:
            self._carry_out(instruction)
        if self.state is not before or instructions:
            self.on_change(self.state)
