"""`status.json`: what `status` and `why` show of the living run."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from supervisor.core import halted
from supervisor.core.state import State
from supervisor.core.summary import summary
from supervisor.daemon.assemble import Parts
from supervisor.daemon.history import LastSeen
from supervisor.daemon.world import World
from supervisor.model.base import encode_readable
from supervisor.model.status import RunStatus

_FILE = "status.json"
_EVERY_S = 5.0
_PACE_WINDOW_S = 60.0


def last_told(folder: Path) -> LastSeen | None:
    """What the last supervisor of this run told last; None: nothing that can be read."""
    with suppress(OSError, msgspec.MsgspecError):
        status = msgspec.json.decode((folder / _FILE).read_bytes(), type=RunStatus)
        return LastSeen(status.job_id, status.updated_at, status.step)
    return None


class Reporter:
    """Writes the status at each change of stage, and every few seconds for what moves by itself."""

    def __init__(self, world: World, parts: Parts, state: Callable[[], State]) -> None:
        self._world = world
        self._parts = parts
        self._state = state
        self._shown: object = None
        self._began_at = world.clock()
        self._pace: list[tuple[float, int]] = []

    def changed(self, state: State) -> None:
        """The machine has handled an event: nodes that left are no longer expected, and a new stage is shown."""
        attempt = state.attempt
        number = attempt.number if attempt else 0
        shown = (state.stage, number, state.behind.incidents, state.held, state.unfit, state.answers)
        if shown == self._shown:
            return
        self._shown = shown
        self._world.roster.expect(state.held, self._world.clock())
        self._write(state)

    async def run(self) -> None:
        """Write for ever."""
        while True:
            await asyncio.sleep(_EVERY_S)
            self._write(self._state())

    def _write(self, state: State) -> None:
        self._world.writer.write(self._world.folder / _FILE, encode_readable(self._status(state)))

    def _status(self, state: State) -> RunStatus:
        world, seen, last = self._world, summary(state), state.finish
        return RunStatus(
            run_id=world.run.run_id,
            job_id=world.around.job_id,
            updated_at=world.clock(),
            began_at=self._began_at,
            stage=seen.stage.value,
            mode=state.behind.mode or world.settings.mode,
            halt=halted.words(state.halt) if state.halt else "",
            answers=state.answers,
            attempt=seen.attempt,
            step=seen.step,
            step_s=self._step_s(),
            nodes=state.held,
            attempt_nodes=seen.nodes,
            nodes_up=len(world.roster.up()),
            bad=dict(seen.unfit),
            incidents=seen.interruptions,
            restarts=seen.restarts,
            ends_at=state.walltime_at,
            slurm_calls=world.slurm.calls.total,
            transport=self._parts.bus.transport,
            conclusion=seen.conclusion,
            exit_code=last.code if last else None,
            exit_signal=last.signal if last else None,
            successor=seen.successor,
            failed_writes=world.writer.failed,
        )

    def _step_s(self) -> float | None:
        """Seconds a step over the last minute; None without beats."""
        now, step = self._world.clock(), self._world.roster.progress
        if step is None:
            self._pace.clear()
            return None
        self._pace = [(at, then) for at, then in self._pace if now - at <= _PACE_WINDOW_S and then <= step]
        self._pace.append((now, step))
        (at, then), steps = self._pace[0], step - self._pace[0][1]
        return (now - at) / steps if steps and then < step else None
