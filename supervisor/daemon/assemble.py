"""Puts the supervisor together: every edge opened, in the order in which they need each other."""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog

from supervisor.beat.install import install_beat
from supervisor.bus.opening import BusPlace, OpenHub, local_folder, open_hub
from supervisor.core.events import Event
from supervisor.core.hang import Limits
from supervisor.daemon import agent_log
from supervisor.daemon.agent_launch import AgentFiles, agent_command, agent_environment
from supervisor.daemon.agent_steps import AgentSteps
from supervisor.daemon.clock import Clock
from supervisor.daemon.hangs import Hangs
from supervisor.daemon.job_environment import environment_of_the_job
from supervisor.daemon.keeper_link import KeeperLink
from supervisor.daemon.output import Output
from supervisor.daemon.roster import Roster
from supervisor.daemon.signatures import known_signatures
from supervisor.daemon.surroundings import Surroundings
from supervisor.daemon.tail import job_output
from supervisor.daemon.world import World
from supervisor.errors import NoSlurm, PayloadRefused, SlurmFailed
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.writer import Writer
from supervisor.model.agent_config import AgentConfig
from supervisor.model.base import encode
from supervisor.model.ids import JobId, NodeName
from supervisor.runtime.for_agents import build_runtime
from supervisor.settings import Settings
from supervisor.slurm.absent import AbsentSlurm
from supervisor.slurm.backend import Backend
from supervisor.slurm.facts import SlurmConfig
from supervisor.slurm.keeper_files import BOOT, programs
from supervisor.slurm.pyslurm_backend import PyslurmSlurm
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)
_T = TypeVar("_T")

_FIRST_ASK_S = 5.0
_LOOPBACK = ("127.0.0.1", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basics:
    """What is there before anything is opened."""

    folder: Path
    run: RunFile
    settings: Settings
    around: Surroundings
    clock: Clock
    keeper: KeeperLink
    writer: Writer
    post: Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospects:
    """How Slurm may end this job, as far as it said so when the supervisor began."""

    walltime_at: float | None = None
    """When the time limit ends the job; None: unknown or never."""
    preempt_mode: str = ""
    """What becomes of the job when another one takes its nodes; empty: not known."""
    time_limit_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The supervisor's edges, open."""

    world: World
    bus: OpenHub
    agents: AgentSteps
    address: str
    """`host:port` of this node's slurmd; empty without Slurm."""
    controllers: tuple[str, ...]
    """`host:port` of each slurmctld; empty: not known."""
    prospects: Prospects
    node_folder: Path
    """What lies on this node's own disk; removed at the end of the job."""

    async def end(self) -> None:
        """The job is over: agents and broker end, nothing stays on this node."""
        await self.agents.end()
        await self.bus.stop()
        await asyncio.to_thread(shutil.rmtree, self.node_folder, ignore_errors=True)


async def open_parts(stack: AsyncExitStack, basics: Basics) -> Parts:
    """Everything opened, left with the stack. Raises `BrokerFailed` where agents can be reached in no way."""
    slurm: Backend = PyslurmSlurm() if basics.around.is_slurm else AbsentSlurm()
    runtime = asyncio.create_task(asyncio.to_thread(_runtime, basics.folder), name="runtime")
    (host, port), config, prospects = await _ask_slurm(slurm, basics.around)
    bus = await stack.enter_async_context(open_hub(_place(basics, host, config)))
    address = f"{host}:{port}" if port else ""
    roster = Roster(
        silence_s=basics.settings.node_silence_s,
        expected_s=basics.settings.agents_deadline_s,
        hangs=Hangs(Limits(hang_s=basics.settings.hang_s, first_step_s=basics.settings.first_step_s)),
    )
    roster.expect(basics.around.nodes, basics.clock())
    folders = await _folders(basics.run, basics.settings)
    signatures = await known_signatures(_FIRST_ASK_S)
    files = await _agent_files(basics, bus, address, await runtime, folders)
    world = World(
        folder=basics.folder,
        run=basics.run,
        settings=basics.settings,
        around=basics.around,
        clock=basics.clock,
        slurm=slurm,
        keeper=basics.keeper,
        hub=bus.link,
        roster=roster,
        output=Output(
            paths=job_output(basics.folder),
            keep_lines=basics.settings.log_lines,
            span_s=basics.settings.evidence_span_s,
            signatures=signatures,
        ),
        signatures=signatures,
        writer=basics.writer,
        post=basics.post,
        folders=folders,
    )
    agents = _agents(basics, bus, files, world)
    stack.push_async_callback(agents.close)
    return Parts(
        world=world,
        bus=bus,
        agents=agents,
        address=address,
        controllers=config.controllers,
        prospects=prospects,
        node_folder=_node_folder(basics),
    )


async def _ask_slurm(slurm: Backend, around: Surroundings) -> tuple[tuple[str, int], SlurmConfig, Prospects]:
    """This node's address, the cluster's settings and how the job may end.

    A Slurm that gives no answer costs only what depends on it.
    """
    if not around.is_slurm:
        return _LOOPBACK, SlurmConfig(), Prospects()
    address, config, job = await asyncio.gather(
        _or_none(slurm.node_address(around.here, deadline_s=_FIRST_ASK_S)),
        _or_none(slurm.config(deadline_s=_FIRST_ASK_S)),
        _or_none(slurm.job(around.job_id, deadline_s=_FIRST_ASK_S)),
    )
    mode = await _or_none(slurm.preempt_mode(job, deadline_s=_FIRST_ASK_S)) if job else None
    # Of a job that is being cancelled EndTime is that moment: the cancel would look like the time limit.
    walltime_at = job.end_time if job and job.state == "RUNNING" else None
    limit = job.time_limit_s if job else None
    prospects = Prospects(walltime_at=walltime_at, preempt_mode=mode or "", time_limit_s=limit)
    return address or (str(around.here), 0), config or SlurmConfig(), prospects


async def _or_none(asked: Awaitable[_T]) -> _T | None:
    try:
        return await asked
    except (SlurmFailed, NoSlurm, PayloadRefused) as exc:
        _log.warning("slurm.no_answer", reason=exc)
        return None


def _place(basics: Basics, host: str, config: SlurmConfig) -> BusPlace:
    first, last = config.srun_ports or (0, 0)
    return BusPlace(
        run=basics.run.run_id,
        transport=basics.settings.transport,
        address=host,
        folder=_node_folder(basics),
        secrets_file=basics.folder / "secrets",
        lives_with=os.getppid(),
        first_port=first,
        last_port=last,
    )


def _node_folder(basics: Basics) -> Path:
    """One for each job; without Slurm, where every job has the number 0, one for each run."""
    return local_folder(basics.around.raw_job_id if basics.around.is_slurm else JobId(basics.run.run_id))


def _runtime(folder: Path) -> Path:
    """What agents and ranks load, of the version that this supervisor is."""
    install_beat(folder)
    if not (folder / BOOT).exists():  # an older version has submitted the run, and is not kept
        (folder / BOOT).write_bytes(programs()[BOOT])
    path = folder / "runtime.tar"
    build_runtime(path)
    return path


async def _agent_files(
    basics: Basics, bus: OpenHub, address: str, runtime: Path, folders: tuple[str, ...]
) -> AgentFiles:
    told = AgentConfig(
        run_id=basics.run.run_id,
        job_id=basics.around.raw_job_id,
        restarts=basics.around.restarts,
        nodes=basics.around.nodes,
        lease_s=basics.settings.lease_s,
        run_dir=str(basics.folder),
        folders=folders,
        batch_host=basics.around.here,
        slurmd_address=address,
        take_over=_take_over(basics),
    )
    # One file for each job: the successor's agents must not be told the predecessor's broker.
    config = basics.folder / f"agent-{basics.around.raw_job_id}.json"
    basics.writer.write(config, encode(bus.agent_config(told)), mode=0o600)
    await basics.writer.flushed(_FIRST_ASK_S)
    return AgentFiles(boot=basics.folder / BOOT, runtime=runtime, config=config)


def _take_over(basics: Basics) -> tuple[str, ...]:
    """What an agent starts when this node is dead; without Slurm or a script there is nothing to submit."""
    if not basics.around.is_slurm or not basics.run.script_name:
        return ()
    folder = str(basics.folder)
    return (sys.executable, "-I", f"{folder}/{BOOT}", folder, "supervisor.daemon.take_over", folder)


def _agents(basics: Basics, bus: OpenHub, files: AgentFiles, world: World) -> AgentSteps:
    pipes = _node_folder(basics) / "stdout" if bus.transport == "stdout" else None

    def ended(nodes: tuple[NodeName, ...]) -> None:
        for event in world.roster.step_ended(nodes, basics.clock()):
            world.post(event)

    return AgentSteps(
        command=lambda nodes: agent_command(
            basics.around, nodes, files, memory_mb=basics.settings.agent_memory_mb, pipes=pipes
        ),
        environment=agent_environment(basics.around, os.environ, environment_of_the_job()),
        log_path=basics.folder / agent_log.NAME,
        clock=basics.clock,
        ended=ended,
    )


async def _folders(run: RunFile, settings: Settings) -> tuple[str, ...]:
    """What each node must reach, as this one does. A URL is the checkpoint finder's to judge."""
    return tuple([place for place in dict.fromkeys([run.workdir, settings.checkpoint]) if await _is_reached(place)])


async def _is_reached(place: str) -> bool:
    if not place.startswith("/"):
        return False
    try:
        return await aside(Path(place).is_dir, deadline_s=_FIRST_ASK_S, name="folder")
    except OSError as exc:
        _log.warning("folder.no_answer", place=place, reason=exc)
        return False
