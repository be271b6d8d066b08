"""Watches over the silence of the supervisor's side: kills this node's ranks after a lease, takes over after two."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.agent import fence, takeover
from supervisor.agent.lease import Lease
from supervisor.agent.processes import Process, send_signal
from supervisor.agent.stop import stop_ranks
from supervisor.agent.votes import Votes
from supervisor.agent.watcher import Watcher
from supervisor.bus.protocol import AgentLink
from supervisor.model.agent_config import AgentConfig
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.takeover import Orphaned, Why
from supervisor.model.wire import Fenced, StopRanks

_ALL: Final = AttemptNo(2**31 - 1)
"""No attempt is newer."""
_ERRAND_S: Final = 150.0
"""For a takeover: Slurm's answers, sbatch, and a look into the queue where sbatch was not heard."""
_DIES_S: Final = 3.0
"""For it to be gone where the agent leaves: what a dead filesystem holds does not even die."""
_FIRST_AGAIN_S, _LAST_AGAIN_S = 5.0, 60.0
"""Between two tries of a takeover: slurmctld may be away."""
_OVER: Final = 3
"""Exit code of the takeover's process: nobody is to take this job over."""
_WHY: Final[Mapping[takeover.Step, Why]] = {"take_over": "majority", "ask_slurm": "alone"}


@dataclass(slots=True)
class _Tries:
    """Takeovers begun in this silence."""

    task: asyncio.Task[int | None] | None = None
    count: int = 0
    not_before: float = 0.0
    is_over: bool = False


class Guard:
    """One agent's part in fencing and takeover; `run` is the loop."""

    def __init__(self, config: AgentConfig, node: NodeName, link: AgentLink, lease: Lease, watcher: Watcher) -> None:
        self._config = config
        self._node = node
        self._link = link
        self._lease = lease
        self._watcher = watcher
        self._votes = Votes(config, node)
        self._tries = _Tries()
        self.is_orphaned = False
        """The batch host seems dead, and no rank is left here: nobody hears this agent any more."""

    async def run(self) -> None:
        """Look for ever."""
        try:
            await self._watch()
        finally:
            task, self._tries.task = self._tries.task, None
            if task is not None:
                task.cancel()
                await asyncio.wait({task}, timeout=_DIES_S)

    async def _watch(self) -> None:
        lease_s = self._config.lease_s
        now = asked_at = time.monotonic()
        watch = fence.Watch(silent_since=now, looked_at=now)
        while True:
            await asyncio.sleep(fence.pace_s(lease_s=lease_s))
            watch = fence.look(watch, now=time.monotonic(), sign_at=self._link.last_heard, lease_s=lease_s)
            now = watch.looked_at
            if not fence.is_due(watch, now=now, asked_at=asked_at, lease_s=lease_s, leases=takeover.LEASES):
                continue
            heard_at, before, asked_at = self._link.last_heard, asked_at, now
            sign_at = await self._sign_at(is_first=heard_at is not None and heard_at > before)
            watch = fence.look(watch, now=time.monotonic(), sign_at=sign_at, lease_s=lease_s)
            await self._act(watch)

    async def _act(self, watch: fence.Watch) -> None:
        is_batch_host = self._node == self._lease.batch_host
        is_cut_off = fence.is_cut_off(watch, lease_s=self._config.lease_s, is_batch_host=is_batch_host)
        self.is_orphaned = is_cut_off and await self._fence()
        if self.is_orphaned:
            await self._take_over(watch)
        elif not is_cut_off:
            await self._votes.withdraw()
            self._tries = _Tries(task=self._tries.task)

    async def _sign_at(self, *, is_first: bool) -> float | None:
        """When a sign of life came; None: none. Asked by cost: the file is one read, the probe a connection.

        `is_first`: the bus was heard since the last question. The term was then renewed at any time before now, and its
        own word for when is off by no more than these few seconds, whatever its clock says. Later each change is new.
        """
        deadline_s = fence.question_s(lease_s=self._config.lease_s)
        is_renewed, now, term = await self._lease.is_renewed(deadline_s=deadline_s), time.monotonic(), self._lease.term
        if is_renewed and term is not None:
            return min(now, now - (time.time() - term.renewed_at)) if is_first else now
        return time.monotonic() if await self._lease.is_slurmd_there(deadline_s=deadline_s) else None

    async def _fence(self) -> bool:
        """Kill the ranks; whether none is left."""
        try:
            doomed = await self._watcher.look()
            if not doomed:
                return True
            command = StopRanks(ask="fence", attempt=_ALL, grace_s=0.0)
            left = await stop_ranks(command, node=self._node, scan=self._watcher.look, send=send_signal)
        except TimeoutError as error:
            _say(f"agent: {self._node} could not look for its ranks: {error}")  # and again at the next look
            return False
        self._tell_fenced(doomed, left.left)
        return not left.left

    def _tell_fenced(self, doomed: Sequence[Process], left: Sequence[int]) -> None:
        killed = max(0, len(doomed) - len(left))
        _say(f"{self._node} is cut off: killed {killed} processes")
        attempt = max(process.attempt for process in doomed)
        self._link.send(Fenced(node=self._node, at=time.time(), attempt=attempt, killed=killed), attempt=attempt)

    async def _take_over(self, watch: fence.Watch) -> None:
        term, lease_s, signs = self._lease.term, self._config.lease_s, self._signs(watch)
        if not self._config.take_over or term is None or takeover.decide(signs, lease_s=lease_s) == "watch":
            return
        if not await self._votes.cast(term):
            return
        if takeover.is_counting(signs, lease_s=lease_s):
            signs = self._signs(watch, votes=await self._votes.of(term))
        why = _WHY.get(takeover.decide(signs, lease_s=lease_s))
        if why is None:
            return
        told = Orphaned(
            job_id=self._config.job_id,
            restarts=self._config.restarts,
            here=self._node,
            batch_host=self._lease.batch_host,
            renewed_at=term.renewed_at,
            votes=tuple(sorted(signs.votes)),
            why=why,
            is_late=takeover.is_late(signs, lease_s=lease_s),
        )
        self._begin(told)

    def _signs(self, watch: fence.Watch, *, votes: frozenset[NodeName] = frozenset()) -> takeover.Signs:
        return takeover.Signs(
            here=self._node,
            batch_host=self._lease.batch_host,
            nodes=self._config.nodes,
            silent_s=watch.looked_at - watch.silent_since,
            is_clean=True,
            votes=votes,
            voters=self._lease.term.voters if self._lease.term else 0,
        )

    def _begin(self, told: Orphaned) -> None:
        """Start the process that takes over, unless one is at work or it is too soon to try again."""
        tries = self._tries
        if tries.task is not None and not tries.task.done():
            return
        if tries.task is not None:
            tries.is_over = tries.is_over or tries.task.result() == _OVER
            tries.task = None
        now = time.monotonic()
        if tries.is_over or now < tries.not_before:
            return
        tries.count += 1
        tries.not_before = now + min(_LAST_AGAIN_S, _FIRST_AGAIN_S * 2 ** (tries.count - 1))
        _say(f"{self._node} takes over from {told.batch_host} ({told.why}, {len(told.votes)} votes)")
        tries.task = asyncio.create_task(_carried_out(self._config.take_over, told), name=f"takeover[{self._node}]")


async def _carried_out(command: Sequence[str], told: Orphaned) -> int | None:
    """The exit code; None: it could not be started or did not end in time. A process that is left is killed."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, encode(told).decode(), stdin=asyncio.subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        _say(f"agent: {command[0]} cannot be started: {error.strerror}")
        return None
    try:
        async with asyncio.timeout(_ERRAND_S):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _say(words: str) -> None:
    print(f"supervise: {words}", file=sys.stderr, flush=True)  # noqa: T201
