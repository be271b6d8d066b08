"""Readers of the user's steps beside srun, one `sattach -l` each: they give the ranks' lines their labels.

Only with `--rank-lines sattach`. What it costs: slurmstepd reports each end of a task to every reader that a step ever
had, and sattach never answers: srun hears of it 2.3 s later (see docs/decisions/0004). And a reader that does not read
holds the ranks up once some 2 MB wait in their slurmstepd: one that falls behind is ended here.
"""

import asyncio
import os
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from supervisor.core.events import Event
from supervisor.daemon.clock import Clock
from supervisor.daemon.rank_log import RankLog
from supervisor.diagnose.bundle import Log
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.ids import AttemptNo, JobId, Rank
from supervisor.slurm.backend import Backend
from supervisor.slurm.commands import AGENT_STEP, attach, clean_environment
from supervisor.slurm.facts import StepFacts

_log = structlog.stdlib.get_logger(__name__)

_LOOKS_S: Final = (0.5, 2.0, 5.0, 10.0)
"""Pauses before the looks for steps once ranks were seen; the first look that finds one is the last."""
_REST_S: Final = 5.0
"""Between two rounds: the ranks of many nodes are seen one after the other."""
_AGAIN_S: Final = 60.0
"""A script may start further steps: looked for this often."""
_READERS: Final = 16
"""At a time; a script that starts hundreds of steps at once is no training job."""
_TRIES: Final = 3
_TOO_EARLY: Final = "no tasks running"
"""sattach's words for a step whose tasks are still being started."""
_END_S: Final = 1.0
_CHUNK_BYTES: Final = 1 << 13
"""Judged in one turn of the event loop: at worst, of short lines that all mean something, within 20 ms."""
_LINE_BYTES: Final = 4096
_PACE_S: Final = 0.25
_PACES: Final = 8
_FLOOD_BYTES: Final = 1 << 20
"""In two seconds: far more than a sane job prints, and less than slurmstepd holds back for a reader."""
_LATE_S: Final = 2.0
_LATE_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What readers need to know of the job."""

    slurm: Backend
    job: JobId
    deadline_s: float
    """For one question to Slurm."""
    clock: Clock
    ranks: Callable[[], int]
    """How many ranks are known by their beats."""


class RankLines:
    """The readers of the present attempt and what they read. Without `watch` there are none, and it holds nothing."""

    def __init__(self) -> None:
        self._lines = RankLog()
        self._is_open = False
        self._has_ranks = False
        self._seen = asyncio.Event()
        self._tries: Counter[str] = Counter()
        self._readers: dict[str, asyncio.subprocess.Process] = {}
        self._reading: set[asyncio.Task[None]] = set()
        self._received_bytes = 0
        self._turn = asyncio.Lock()  # of many readers with a full buffer one goes on in a turn of the event loop

    def begin(self, attempt: AttemptNo) -> None:
        """A new attempt: what was read of the one before is forgotten."""
        self.close()
        self._lines.begin(attempt)
        self._tries.clear()
        self._is_open = True

    def ranks_seen(self) -> None:
        """Ranks of the attempt run: there are steps to read."""
        if self._is_open:
            self._has_ranks = True
            self._seen.set()

    def close(self) -> None:
        """End the readers, now, and start no other in this attempt. What they read stays."""
        self._is_open = self._has_ranks = False
        self._seen.clear()
        for process in self._readers.values():
            _kill(process)

    async def end(self) -> None:
        """`close`, and wait a bounded time for the readers to be gone."""
        self.close()
        if self._reading:
            await asyncio.wait(self._reading, timeout=_END_S)

    @property
    def has_read(self) -> bool:
        """Some step of this attempt has, or had, a reader."""
        return bool(self._tries)

    def events(self) -> list[Event]:
        """What the lines meant since the last call."""
        return self._lines.events()

    def logs(self, failing: list[Rank], *, ranks: int) -> tuple[Log, ...]:
        """The last lines of the failing ranks, first failure first, and of some others."""
        return self._lines.logs(failing, ranks=ranks)

    async def watch(self, source: Source) -> None:
        """Find steps and read them, for ever; ends by cancellation, with all readers."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_pace(), name="rank_lines.pace")
                while True:
                    await self._due()
                    await self._look_some_times(source, group)
                    await asyncio.sleep(_REST_S)
        except Exception:  # noqa: BLE001  # a whole component: labels are a comfort, and the run goes on without them
            _log.exception("rank_lines.broke")
        finally:
            self.close()

    async def _due(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_AGAIN_S if self._has_ranks else None):
                await self._seen.wait()
        self._seen.clear()

    async def _look_some_times(self, source: Source, group: asyncio.TaskGroup) -> None:
        for pause in _LOOKS_S:
            await asyncio.sleep(pause)
            if not self._is_open or await self._look(source, group):
                return

    async def _look(self, source: Source, group: asyncio.TaskGroup) -> bool:
        """Whether the user has steps now; those that nobody reads get a reader."""
        try:
            found = await source.slurm.steps(source.job, deadline_s=source.deadline_s)
        except (SlurmFailed, NoSlurm) as exc:
            _log.info("rank_lines.no_answer", reason=exc)
            return False
        users = [step for step in found if step.is_launched and step.name != AGENT_STEP]
        for step in users:
            if self._is_open and not self._tries[step.step_id] and len(self._reading) < _READERS:
                self._tries[step.step_id] += 1
                self._lines.add_step(step.step_id, step.tasks)
                task = group.create_task(self._read(step, source), name=f"rank_lines[{step.step_id}]")
                self._reading.add(task)
                task.add_done_callback(self._reading.discard)
        return bool(users)

    async def _read(self, step: StepFacts, source: Source) -> None:
        """Read the step to its end; a step whose tasks are only being started is tried again."""
        while await self._is_too_early(step, source) and self._tries[step.step_id] < _TRIES and self._is_open:
            self._tries[step.step_id] += 1
            await asyncio.sleep(_PACE_S * self._tries[step.step_id])

    async def _is_too_early(self, step: StepFacts, source: Source) -> bool:
        try:
            process = await asyncio.create_subprocess_exec(
                *attach(step.step_id),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=clean_environment(os.environ),
            )
        except OSError as exc:
            _log.warning("rank_lines.not_started", step=step.step_id, reason=exc)
            return False
        try:
            return await self._follow(process, step, source) if self._is_open else False
        finally:
            self._readers.pop(step.step_id, None)
            await _ended(process)

    async def _follow(self, process: asyncio.subprocess.Process, step: StepFacts, source: Source) -> bool:
        self._readers[step.step_id] = process
        _log.info("rank_lines.reads", step=step.step_id, tasks=step.tasks)
        early = await asyncio.gather(
            *(self._pump(stream, step.step_id, source) for stream in (process.stdout, process.stderr) if stream)
        )
        code = await process.wait()
        _log.info("rank_lines.read", step=step.step_id, code=code)
        return any(early) and not self._lines.has_lines(step.step_id)

    async def _pump(self, stream: asyncio.StreamReader, step: str, source: Source) -> bool:
        """Take lines until the stream ends; whether it said that the step has no tasks yet."""
        rest, is_early = b"", False
        while data := await stream.read(_CHUNK_BYTES):
            self._received_bytes += len(data)
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[:_LINE_BYTES]  # the beginning has the label
            async with self._turn:
                for line in lines:
                    text = line.decode(errors="replace")
                    is_early = is_early or (text.startswith("sattach: ") and _TOO_EARLY in text)
                    self._lines.line(step, text, ranks=source.ranks(), now=source.clock())
                await asyncio.sleep(0)
        return is_early

    async def _keep_pace(self) -> None:
        """End the readers before the ranks have to wait for them."""
        loop = asyncio.get_running_loop()
        late: deque[float] = deque(maxlen=_PACES)
        came: deque[int] = deque(maxlen=_PACES)
        while True:
            began, received = loop.time(), self._received_bytes
            await asyncio.sleep(_PACE_S)
            late.append(loop.time() - began - _PACE_S)
            came.append(self._received_bytes - received)
            if self._readers and is_behind(late_s=max(late), received_bytes=sum(came)):
                _log.warning("rank_lines.given_up", late_s=max(late), received_bytes=sum(came))
                self.close()
                came.clear()


def is_behind(*, late_s: float, received_bytes: int) -> bool:
    """Whether readers may hold the ranks up, who have every core first: a flood, or much to read after a long wait.

    `late_s`: the longest that our turn was late within two seconds; `received_bytes`: read in them.
    """
    return received_bytes > _FLOOD_BYTES or (late_s > _LATE_S and received_bytes >= _LATE_BYTES)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Kill it and let its pipes close; one that cannot die within a second is left behind."""
    _kill(process)
    leaving = asyncio.create_task(process.communicate())
    await asyncio.wait({leaving}, timeout=_END_S)
    leaving.cancel()


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
