"""Stops what this batch host runs once it is cut off from everybody, or once another job has the run."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from supervisor.agent.processes import Scanner, send_signal
from supervisor.agent.stop import stop_ranks
from supervisor.agent.watcher import Watcher
from supervisor.core.isolation import Contacts, is_cut_off
from supervisor.daemon.lease import Lease
from supervisor.daemon.world import World
from supervisor.model.ids import AttemptNo
from supervisor.model.wire import StopRanks
from supervisor.selftest.tier0 import accepts

_log = structlog.stdlib.get_logger(__name__)

_LOOK_S: Final = 1.0
_QUESTION_S: Final = 2.0
_ALL: Final = AttemptNo(2**31 - 1)
"""No attempt is newer."""

Accepts = Callable[[str], Awaitable[bool]]


@dataclass(slots=True)
class Isolation:
    """Looks whether anybody else is reached. Slurm's controller is asked only while the others are silent."""

    world: World
    lease: Lease
    controllers: Sequence[str]
    is_acting: Callable[[], bool]
    """In observe mode nothing is stopped for being cut off: nobody of ours begins anything elsewhere either."""
    accepts: Accepts = accepts

    async def watch(self) -> None:
        """Returns once this job may not go on here, when everything that it ran on this node is gone."""
        why = await self._why()
        _log.error("isolation.stops", why=why)
        print(f"supervise: {why}: this job stops here", file=sys.stderr, flush=True)  # noqa: T201  # the job's output
        await stop_all(self.world)
        self.world.keeper.finish(code=1, signal=None)

    async def _why(self) -> str:
        clock, lease_s = self.world.clock, self.world.settings.lease_s
        since = looked_at = clock()
        answered_at: float | None = since if self.controllers else None
        while not self.lease.lost_to:
            await asyncio.sleep(_LOOK_S)
            if clock() - looked_at > lease_s / 2:
                since = clock()  # a machine that slept has reached nobody either
            contacts = self._contacts(answered_at)
            if answered_at is not None and is_cut_off(contacts, since=since, now=clock(), lease_s=lease_s / 2):
                answered_at = clock() if await self._is_answered() else answered_at
            looked_at = clock()
            contacts = self._contacts(answered_at)
            if is_cut_off(contacts, since=since, now=looked_at, lease_s=lease_s) and self.is_acting():
                return f"nobody was reached for {lease_s:.0f} s, neither another node nor Slurm nor the run folder"
        return self.lease.lost_to

    def _contacts(self, answered_at: float | None) -> Contacts:
        others = [node for node in self.world.around.nodes if node != self.world.around.here]
        heard = [at for node in others if (at := self.world.roster.heard(node)) is not None]
        return Contacts(written_at=self.lease.written_at, heard_at=max(heard, default=None), answered_at=answered_at)

    async def _is_answered(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(_QUESTION_S):
                return any(await asyncio.gather(*(self.accepts(each) for each in self.controllers)))
        return False


async def stop_all(world: World) -> None:
    """Kill every attempt's processes on this node, the script's own included."""
    watcher = Watcher(Scanner(run_id=world.run.run_id, job_id=world.around.raw_job_id))
    order = StopRanks(ask="isolation", attempt=_ALL, part="all", grace_s=0.0)
    try:
        left = await stop_ranks(order, node=world.around.here, scan=watcher.look, send=send_signal)
    except TimeoutError as exc:
        _log.warning("isolation.unproven", reason=exc)
    else:
        _log.info("isolation.stopped", left=left.left)
