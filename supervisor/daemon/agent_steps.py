"""Starts agents: one step for all nodes that miss theirs, never more often than the backoff allows."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from supervisor.daemon.clock import Clock
from supervisor.model.ids import NodeName
from supervisor.slurm.hostlist import compress
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_BACKOFF_S = (0.0, 5.0, 15.0, 60.0, 300.0)
"""Between starts on one node; begins again once the node was heard."""
_END_S = 1.5
"""For the agents to leave, at the end of the job."""
_OPEN_S = 5.0
"""For the log in the run folder to open."""
_FRESH_S = 10.0
"""A step started this recently is still coming up: nobody starts a second one on its nodes."""


@dataclass(slots=True)
class _Starts:
    """What was tried on one node."""

    count: int = 0
    last_at: float = float("-inf")


@dataclass(slots=True)
class StartPlan:
    """Pure: on which nodes an agent may be started now."""

    _nodes: dict[NodeName, _Starts] = field(default_factory=dict)

    def due(self, missing: Iterable[NodeName], now: float) -> list[NodeName]:
        """Those of the missing nodes whose backoff is over; they count as started."""
        due = []
        for name in missing:
            starts = self._nodes.setdefault(name, _Starts())
            pause = max(_BACKOFF_S[min(starts.count, len(_BACKOFF_S) - 1)], _FRESH_S if starts.count else 0.0)
            if now - starts.last_at >= pause:
                starts.count, starts.last_at = starts.count + 1, now
                due.append(name)
        return due

    def heard(self, name: NodeName) -> None:
        """The node's agent has reported: the next loss starts with no backoff."""
        self._nodes.pop(name, None)


class AgentSteps:
    """The agent steps that this supervisor started."""

    def __init__(
        self,
        *,
        command: Callable[[Sequence[NodeName]], list[str]],
        environment: dict[str, str],
        log_path: Path,
        clock: Clock,
        ended: Callable[[tuple[NodeName, ...]], None],
    ) -> None:
        self._command = command
        self._environment = environment
        self._log_path = log_path
        self._clock = clock
        self._ended = ended
        self._plan = StartPlan()
        self._watching: set[asyncio.Task[None]] = set()
        self._running: set[asyncio.subprocess.Process] = set()

    def heard(self, name: NodeName) -> None:
        """The node's agent has reported."""
        self._plan.heard(name)

    async def start(self, missing: Iterable[NodeName]) -> None:
        """Start what is due; returns once the step's launcher runs, not when the agents have reported."""
        nodes = self._plan.due(missing, self._clock())
        if not nodes:
            return
        try:
            process = await self._spawn(nodes)
        except OSError as exc:
            _log.warning("agents.not_started", nodes=compress(nodes), reason=exc)
            self._ended(tuple(nodes))
            return
        watch = asyncio.create_task(self._watch(process, tuple(nodes)), name=f"agent_step[{len(nodes)}]")
        self._watching.add(watch)
        watch.add_done_callback(self._watching.discard)

    async def end(self) -> None:
        """End the steps of this supervisor: TERM to each launcher, which passes it on.

        Steps that an earlier supervisor started end with the job.
        """
        for process in self._running:
            with suppress(ProcessLookupError):
                process.terminate()
        if self._watching:
            await asyncio.wait(self._watching, timeout=_END_S)

    async def close(self) -> None:
        """Stop watching. The steps themselves end with the job, or by the step's cancellation."""
        for watch in self._watching:
            watch.cancel()
        if self._watching:
            await asyncio.wait(self._watching, timeout=2.0)

    async def _spawn(self, nodes: Sequence[NodeName]) -> asyncio.subprocess.Process:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        errors = await aside(lambda: os.open(self._log_path, flags, 0o600), deadline_s=_OPEN_S, name="agent_log")
        try:
            # A session of its own: the step must outlive a supervisor that is killed.
            return await asyncio.create_subprocess_exec(
                *self._command(nodes),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env=self._environment,
                start_new_session=True,
            )
        finally:
            os.close(errors)

    async def _watch(self, process: asyncio.subprocess.Process, nodes: tuple[NodeName, ...]) -> None:
        self._running.add(process)
        try:
            code = await process.wait()
        finally:
            self._running.discard(process)
        _log.info("agents.step_ended", nodes=compress(nodes), code=code)
        self._ended(nodes)
