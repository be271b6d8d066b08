"""Eyes: each turns what one source says into events, for ever."""

import asyncio
import signal
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress

import structlog

from supervisor.core.events import (
    AttemptEnded,
    AttemptStarted,
    Event,
    KeeperReported,
    RankFailed,
    RanksSeen,
    SignalReceived,
)
from supervisor.daemon.agent_steps import AgentSteps
from supervisor.daemon.keeper_link import Ended, KeeperState, Refused, Signalled, Started
from supervisor.daemon.output import BEHIND_S
from supervisor.daemon.rank_lines import Source
from supervisor.daemon.world import World
from supervisor.errors import BrokerFailed
from supervisor.model.wire import Beats, Checked, Fenced, FromAgent, RankGone, Status, Stopped, TellBeats

_log = structlog.stdlib.get_logger(__name__)

_FIRST_REPORT_S = 10.0
_LOOK_S = 0.25
"""Between two looks at the clock and at the job's output: a rank's crash is seen within this."""
_FAILED_LOOK_S = 0.05
"""Between two looks at the clock once a rank has failed."""


async def watch_agents(world: World, agents: AgentSteps) -> None:
    """What agents say."""
    async for message in world.hub.received():
        events = _heard(world, agents, message)
        if any(isinstance(event, RanksSeen) for event in events):
            world.rank_lines.ranks_seen()
        _post_all(world, events)


async def watch_output(world: World) -> None:
    """What the job writes. Apart from the clock: a slow filesystem must not look like a supervisor that slept."""
    while True:
        # A job that writes more than a read takes each time would be followed ever later.
        await asyncio.sleep(BEHIND_S if world.output.is_behind else _LOOK_S)
        events = [*await world.output.read(world.clock()), *world.rank_lines.events()]
        for event in events:
            if isinstance(event, RankFailed):
                world.roster.rank_failed(world.clock(), rank=event.rank, node=event.node)
                world.rank_failed.set()
        _post_all(world, events)


async def watch_time(world: World) -> None:
    """Silence and standstill: what shows only when somebody looks at the clock."""
    asking: asyncio.Task[None] | None = None
    while True:
        await _next_look(world)
        world.step_files.look(world.script_pid, world.clock())
        _post_all(world, world.roster.tick(world.clock(), stall_s=world.settings.stall_s))
        is_free = asking is None or asking.done()
        if is_free and world.roster.wants_beats(world.clock(), stall_s=world.settings.stall_s):
            asking = asyncio.create_task(_ask_for_beats(world), name="tell_beats")


async def _next_look(world: World) -> None:
    """At the news of a failed rank at once, and often until it is known what it means."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_FAILED_LOOK_S if world.roster.is_waiting else _LOOK_S):
            await world.rank_failed.wait()
    world.rank_failed.clear()


async def _ask_for_beats(world: World) -> None:
    """Where the broker is away, beats come at their turn or not at all: a standstill is then judged by the clock."""
    with suppress(BrokerFailed):
        await world.hub.command(None, TellBeats(ask=uuid.uuid4().hex), attempt=world.roster.attempt)


async def watch_steps(world: World) -> None:
    """What ranks write, as `sattach` labels it."""
    source = Source(
        slurm=world.slurm,
        job=world.around.job_id,
        deadline_s=world.settings.slurm_deadline_s,
        clock=world.clock,
        ranks=lambda: world.roster.rank_count,
    )
    await world.rank_lines.watch(source)


async def first_report(world: World) -> list[Event]:
    """The keeper's whole state, which it sends first: the living script is known from then on. Empty: it is gone."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_REPORT_S):
            async for report in world.keeper.reports():
                event = _reported(world, report)
                return [event] if event is not None else []
    return []


async def watch_keeper(world: World) -> None:
    """What the keeper says; ends when the keeper is gone."""
    async for report in world.keeper.reports():
        event = _reported(world, report)
        if event is not None:
            world.post(event)


def hear_last_signal(world: World, is_over: Callable[[], bool]) -> None:
    """SIGTERM as this process itself hears it. Once the end is decided the keeper may not report a cancel any more."""

    def heard() -> None:
        world.keeper.signaled(signal.SIGTERM)
        world.sigterm_at = world.clock()
        if is_over():
            world.post(SignalReceived(at=world.sigterm_at, number=signal.SIGTERM))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, heard)


def _post_all(world: World, events: Iterable[Event]) -> None:
    for event in events:
        world.post(event)


def _heard(world: World, agents: AgentSteps, message: FromAgent) -> list[Event]:
    now = world.clock()
    match message:
        case Status():
            if message.state == "up":
                agents.heard(message.node)
            else:
                world.answers.give_up(message.node)
            return world.roster.status(message, now)
        case Beats():
            return world.roster.beats(message, now)
        case Stopped() | Checked():
            world.answers.arrived(message)
        case RankGone():
            _log.info("rank.gone", node=message.node, rank=message.rank, step=message.step)
            return world.roster.rank_gone(message, now)
        case Fenced():
            _log.warning("agent.fenced", node=message.node, attempt=message.attempt, killed=message.killed)
    return []


def _meaning(world: World, number: int) -> int:
    """Ctrl-C, or the terminal's end, at `supervise run` means what SIGTERM means to a job."""
    is_at_terminal = not world.run.script_name
    return signal.SIGTERM if is_at_terminal and number in {signal.SIGINT, signal.SIGHUP} else number


def _reported(world: World, report: KeeperState | Started | Ended | Signalled | Refused) -> Event | None:
    now = world.clock()
    match report:
        case KeeperState():
            world.adopt_attempt(report.attempt, report.pid if report.alive else 0)
            return KeeperReported(
                at=now,
                attempt=report.attempt,
                is_alive=report.alive,
                code=report.code,
                signal=report.signal,
                is_unsupervised=report.unsupervised,
                signals=tuple(_meaning(world, number) for number in report.signals),
            )
        case Started():
            world.adopt_attempt(report.attempt, report.pid)  # for one that we ordered, the pid is all that is new
            return AttemptStarted(at=now, attempt=report.attempt, pid=report.pid)
        case Ended():
            world.script_pid = 0
            world.rank_lines.close()
            return AttemptEnded(at=now, attempt=report.attempt, code=report.code, signal=report.signal)
        case Signalled():
            return SignalReceived(at=now, number=_meaning(world, report.number), whole_step=report.whole)
        case Refused():
            _log.error("keeper.refused", reason=report.why)
            return None
