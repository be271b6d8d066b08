"""What is said and kept: lines in the job's output, Slurm's Comment, incident records."""

import asyncio
import os

import structlog

from supervisor.core.instructions import KeepRecord
from supervisor.daemon.clock import Clock
from supervisor.daemon.world import World
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.ledger.bounds import enforce
from supervisor.ledger.records import record_path
from supervisor.model.base import encode_readable
from supervisor.model.ids import JobId
from supervisor.redact.text import redacted
from supervisor.slurm.backend import Backend

_log = structlog.stdlib.get_logger(__name__)

_STDERR = 2
COMMENT_EVERY_S = 5.0
"""Between two Comments: a burst of decisions costs Slurm one call."""


def say(text: str) -> None:
    """One line in the job's output. Called in the writer's thread: the output may lie on a dead filesystem."""
    # A path may be no UTF-8: told byte for byte, as `ls` would.
    os.write(_STDERR, f"supervise: {' '.join(text.split())}\n".encode(errors="surrogateescape"))


def keep(world: World, order: KeepRecord) -> None:
    """Write the incident's record (again), and keep the run folder within its bounds."""
    world.writer.write(record_path(world.folder, order.record.incident), encode_readable(order.record))
    world.writer.do(lambda: enforce(world.folder, world.around.raw_job_id, now=world.clock()))
    world.tell_site(order.record)


class Commenter:
    """Keeps Slurm's Comment at the newest text, at most one call in `COMMENT_EVERY_S`, never losing the last."""

    def __init__(self, slurm: Backend, job: JobId, clock: Clock, *, deadline_s: float) -> None:
        self._slurm = slurm
        self._job = job
        self._clock = clock
        self._deadline_s = deadline_s
        self._wanted = ""
        self._set = ""
        self._last_at = float("-inf")
        self._changed = asyncio.Event()

    def want(self, text: str) -> None:
        """The Comment should read so, soon. Everybody on the cluster can read it, and a summary may quote a log."""
        self._wanted = redacted(text)
        self._changed.set()

    async def run(self) -> None:
        """Carry wishes out for ever."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            pause = self._last_at + COMMENT_EVERY_S - self._clock()
            if pause > 0:
                await asyncio.sleep(pause)
            await self.flush()

    async def flush(self) -> None:
        """Set the newest text now, if it is not set. A refusal is noted and not tried again."""
        if self._wanted in {"", self._set}:
            return
        text, self._last_at = self._wanted, self._clock()
        try:
            await self._slurm.update_comment(self._job, text, deadline_s=self._deadline_s)
        except (SlurmFailed, NoSlurm) as exc:
            _log.info("comment.refused", reason=exc)
        self._set = text
