"""Slurm by its own commands: each call counted, within its deadline, and deaf to the SIGTERM that ends the job."""

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm import commands, parse
from supervisor.slurm.dependents import Waiting, parse_waiting
from supervisor.slurm.facts import NodeRecord, SlurmConfig, StepFacts
from supervisor.slurm.process import Answer, CallCount, run, shielded, shown

_T = TypeVar("_T")
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 2.0
# What a busy or restarting slurmctld says; the same question may be answered a moment later.
_PASSING: Final = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Connection refused",
    "Connection reset",
    "Resource temporarily unavailable",
    "temporarily unable",
    "Transport endpoint",
    "Server limit",
    "Rate limit",
)
# Up to here Slurm refuses every further update of a job that was shrunk, where no accounting database gives the job a
# new index ("the DB index is being set"); scontrol repeats it silently for 5 s. Measured on 22.05.8; 26.05 does not.
_LOCKS_AFTER_SHRINK: Final = (22, 5)
# scancel's words for what has ended already: what was wanted is so.
_ENDED: Final = ("already completing or completed", "Invalid job id specified", "Invalid job step")
# scontrol's words for a job without a step that it knows.
_NO_STEPS: Final = ("No job steps", "not found", "does not exist")
_ACCOUNTS_AT_ONCE: Final = 200
"""Jobs that one sacct is asked for."""
# scontrol's words for a job (or a task of an array) that it does not know, or not any more.
_NO_JOB: Final = ("Invalid job id specified", "not found")


class Runner(Protocol):
    """`process.run`, or a fake of it."""

    def __call__(
        self, argv: Sequence[str], /, *, deadline_s: float, env: Mapping[str, str], count: CallCount
    ) -> Awaitable[Answer]:
        """The command's answer."""


class Slurm:
    """The `Backend` that every site has: scontrol, scancel, squeue, sinfo."""

    def __init__(
        self,
        *,
        runner: Runner = run,
        environment: Mapping[str, str] | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.calls = CallCount()
        self._runner = runner
        self._env = commands.clean_environment(os.environ if environment is None else environment)
        self._pause = pause
        self._now = now
        self._config: SlurmConfig | None = None
        self._shrunk: set[JobId] = set()

    async def job(self, job: JobId, *, deadline_s: float) -> JobFacts:
        """The job as Slurm sees it now."""
        return await self._told(commands.show_job(job), deadline_s, lambda text: parse.parse_job(text, job))

    async def remembered(self, job: JobId, *, deadline_s: float) -> JobFacts | None:
        """As `job`, or what accounting keeps of one that has ended long ago; None: nobody knows it any more.

        Raises as `job` does where the controller gave no answer; accounting that gives none, or is off, knows nothing.
        """
        began = self._now()
        try:
            return await self.job(job, deadline_s=deadline_s)
        except SlurmFailed as exc:
            if not any(words in exc.stderr for words in _NO_JOB):
                raise
        return (await self._in_accounts([job], deadline_s - (self._now() - began))).get(job)

    async def my_remembered(self, jobs: Sequence[JobId], *, deadline_s: float) -> dict[JobId, JobFacts]:
        """`remembered` for several of the user's own jobs, by two questions at most; who is not in it is not known."""
        began = self._now()
        recent = commands.list_my_recent_jobs()
        found = await self._told(recent, deadline_s, lambda text: parse.parse_accounts(text, jobs))
        missing = [job for job in jobs if job not in found][:_ACCOUNTS_AT_ONCE]
        if not missing:
            return found
        return {**found, **await self._in_accounts(missing, deadline_s - (self._now() - began))}

    async def _in_accounts(self, jobs: Sequence[JobId], deadline_s: float) -> dict[JobId, JobFacts]:
        try:
            text = await self._act(commands.show_accounts(jobs), deadline_s)
        except (SlurmFailed, NoSlurm):
            return {}
        return parse.parse_accounts(text, jobs)

    async def nodes(self, names: Iterable[NodeName], *, deadline_s: float) -> tuple[NodeState, ...]:
        """The state of these nodes; no name: no question."""
        wanted = tuple(names)
        return tuple(record.state for record in await self._node_records(wanted, deadline_s)) if wanted else ()

    async def steps(self, job: JobId, *, deadline_s: float) -> tuple[StepFacts, ...]:
        """The running steps of the job, the batch step and Slurm's own included."""
        try:
            return await self._told(commands.show_steps(job), deadline_s, parse.parse_steps)
        except SlurmFailed as exc:
            if any(words in exc.stderr for words in _NO_STEPS):
                return ()
            raise

    async def node_names(self, *, deadline_s: float) -> frozenset[NodeName]:
        """Every node of the cluster."""
        return frozenset(await self._told(commands.list_node_names(), deadline_s, parse.parse_node_names))

    async def partition_nodes(self, partition: str, *, deadline_s: float) -> tuple[NodeState, ...]:
        """Every node of a partition with its state."""
        return await self._told(commands.list_partition(partition), deadline_s, parse.parse_partition)

    async def node_address(self, node: NodeName, *, deadline_s: float) -> tuple[str, int]:
        """Host and port of the node's slurmd, for a direct probe."""
        began = self._now()
        config = await self.config(deadline_s=deadline_s)
        records = await self._node_records([node], deadline_s - (self._now() - began))
        if not records:
            raise SlurmFailed(f"Slurm's answer does not speak of node {node}; is the name right?")
        found = records[0]
        return found.address or found.host_name or node, found.port or config.slurmd_ports[0]

    async def config(self, *, deadline_s: float) -> SlurmConfig:
        """The cluster's settings; asked once and kept."""
        if self._config is None:
            self._config = await self._told(commands.show_config(), deadline_s, parse.parse_config)
        return self._config

    async def preempt_mode(self, job: JobFacts, *, deadline_s: float) -> str:
        """What becomes of the job when another one takes its nodes: `REQUEUE`, `CANCEL`, ...; empty: not known."""
        began = self._now()
        config = await self.config(deadline_s=deadline_s)
        left_s = deadline_s - (self._now() - began)
        match config.preempt_type:
            case "preempt/partition_prio":
                asked = commands.show_partition(job.partition)
                return await self._told(asked, left_s, lambda text: parse.parse_partition_mode(text, job.partition))
            case "preempt/qos":
                own = parse.parse_qos_mode(await self._read(commands.show_qos_modes(), left_s), job.qos)
                return config.preempt_mode if own is None else own
            case _:
                return ""

    async def shrink(self, job: JobId, keep: Iterable[NodeName], *, deadline_s: float) -> None:
        """Leave the job only these nodes."""
        await self._update(job, commands.shrink(job, keep), deadline_s)
        self._shrunk.add(job)

    async def requeue(self, job: JobId, *, deadline_s: float) -> None:
        """End the job and queue it again under its id."""
        await self._act(commands.requeue(job), deadline_s)
        self._shrunk.discard(job)

    async def exclude(
        self, job: JobId, names: Iterable[NodeName], *, nodes: int, required: Iterable[NodeName] = (), deadline_s: float
    ) -> None:
        """Where a requeued job may not start, and with how many nodes."""
        await self._update(job, commands.exclude(job, names, nodes=nodes, required=required), deadline_s)

    async def waiting(self, *, deadline_s: float) -> tuple[Waiting, ...]:
        """Every job in the queue that waits for another one, as far as the user may see it."""
        return await self._told(commands.list_waiting(), deadline_s, parse_waiting)

    async def depend(self, jobs: Sequence[JobId], dependency: str, *, deadline_s: float) -> None:
        """What these pending jobs wait for from now on."""
        await self._act(commands.depend(jobs, dependency), deadline_s)

    async def update_comment(self, job: JobId, text: str, *, deadline_s: float) -> None:
        """Set the job's Comment."""
        await self._update(job, commands.comment(job, text), deadline_s)

    async def cancel_job(self, job: JobId, *, deadline_s: float) -> None:
        """End the job."""
        await self._cancel(commands.cancel_job(job), deadline_s)

    async def cancel_steps(self, steps: Sequence[str], *, deadline_s: float) -> None:
        """End these steps with as few calls as fit; steps that have ended meanwhile are no error."""
        began = self._now()
        for argv in commands.cancel_steps(steps):
            await self._cancel(argv, deadline_s - (self._now() - began))

    async def _node_records(self, names: Sequence[NodeName], deadline_s: float) -> tuple[NodeRecord, ...]:
        return await self._told(commands.show_nodes(names), deadline_s, parse.parse_nodes)

    async def _update(self, job: JobId, argv: Sequence[str], deadline_s: float) -> None:
        began = self._now()
        if job in self._shrunk:
            config = await self.config(deadline_s=deadline_s)
            if not config.keeps_accounts and parse.parse_release(config.version) <= _LOCKS_AFTER_SHRINK:
                raise SlurmFailed(
                    f"Slurm {config.version} without accounting lets nobody change job {job} after its first shrink"
                )
        await self._act(argv, deadline_s - (self._now() - began))

    async def _cancel(self, argv: Sequence[str], deadline_s: float) -> None:
        try:
            await self._act(argv, deadline_s)
        except SlurmFailed as exc:
            if not any(words in exc.stderr for words in _ENDED):
                raise

    async def _act(self, argv: Sequence[str], deadline_s: float) -> str:
        """One try: what changes the world is repeated by whoever can see whether it was done."""
        answer = await self._runner(shielded(argv), deadline_s=max(0.0, deadline_s), env=self._env, count=self.calls)
        return answer.checked().stdout

    async def _told(self, argv: Sequence[str], deadline_s: float, parsed: Callable[[str], _T]) -> _T:
        """What the answer means. One that cannot be read is none: nothing is known, as after any failed query."""
        text = await self._read(argv, deadline_s)
        try:
            return parsed(text)
        except ValueError as exc:  # `PayloadRefused` is one
            raise SlurmFailed(f"{shown(argv)} answers what cannot be read: {exc}") from exc

    async def _read(self, argv: Sequence[str], deadline_s: float) -> str:
        """Tries while Slurm is only busy and the deadline allows, with growing, jittered pauses."""
        end, pause_s = self._now() + deadline_s, FIRST_PAUSE_S
        while True:
            try:
                return await self._act(argv, end - self._now())
            except SlurmTimeout:
                raise
            except SlurmFailed as exc:
                wait_s = pause_s * random.uniform(0.5, 1.0)  # noqa: S311  # spreads load, keeps no secret
                if not any(words in exc.stderr for words in _PASSING) or self._now() + wait_s >= end:
                    raise
            await self._pause(wait_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
