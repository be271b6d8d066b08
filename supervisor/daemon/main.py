"""The supervisor process: opens its edges, finds out where the run stands, and lets the machine decide."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import structlog

from supervisor.core.events import Event, KeeperReported
from supervisor.core.state import Stage, State
from supervisor.daemon import agent_log, eyes, lease, standby
from supervisor.daemon.alone import end, is_alone
from supervisor.daemon.assemble import Basics, Parts, open_parts
from supervisor.daemon.clock import steady_clock
from supervisor.daemon.driver import Driver
from supervisor.daemon.hands.check import Checker
from supervisor.daemon.hands.dispatch import Hands
from supervisor.daemon.hands.notify import Teller
from supervisor.daemon.hands.record import Commenter
from supervisor.daemon.hands.site import site_hand
from supervisor.daemon.history import Opening, begun_by, opening
from supervisor.daemon.isolation import Isolation
from supervisor.daemon.job_environment import environment_of_the_job
from supervisor.daemon.keeper_link import KeeperLink
from supervisor.daemon.logs import log_to
from supervisor.daemon.orders import watch_orders
from supervisor.daemon.reporter import Reporter, last_told
from supervisor.daemon.surroundings import read
from supervisor.errors import SuperviseError
from supervisor.ledger.event_log import FILE, EventLog, last_at, read_events
from supervisor.ledger.run_folder import job_ids, read_run
from supervisor.ledger.standby import standby_of
from supervisor.ledger.takeover import takeovers
from supervisor.ledger.writer import Writer
from supervisor.runtime.warm import keep_warm
from supervisor.slurm.successor import is_waited_for

_log = structlog.stdlib.get_logger(__name__)

_NICENESS = 19
_CANARIES = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_REDISCOVERY_S = 5.0
"""For agents to be heard again after a supervisor was started anew."""
_START_S = 90.0
"""For everything up to the first order, on a cold filesystem: the keeper does not start the script alone before."""


def main(arguments: list[str]) -> int:
    """Supervise the run of this folder until the keeper is told to end; 1 with the reason where that cannot begin."""
    folder = Path(arguments[0])
    with closing(Writer()) as writer:
        try:
            log_to(folder / "supervisor.log", writer)
            step_back()
            asyncio.run(_supervise(folder, writer))
        except (SuperviseError, OSError) as exc:
            _log.exception("supervisor.ended")
            print(f"supervise: {exc}", file=sys.stderr)  # noqa: T201  # the job's output is where people look first
            return 1
    return 0


def step_back() -> None:
    """Run only when no rank wants the core. A kernel that refuses that leaves the niceness."""
    os.nice(_NICENESS)
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError as exc:
        _log.info("priority.kept", reason=exc)


async def _supervise(folder: Path, writer: Writer) -> None:
    async with AsyncExitStack() as stack:
        keeper = await KeeperLink.inherited()
        keeper.busy(_START_S)
        _be_canary(keeper)
        alive = asyncio.create_task(lease.tell_keeper(keeper), name="keeper_alive")
        stack.callback(alive.cancel)
        run = await asyncio.to_thread(read_run, folder)
        mailbox: list[Event] = []
        basics = Basics(
            folder=folder,
            run=run,
            settings=run.settings,
            around=read(),
            clock=steady_clock(after=await asyncio.to_thread(last_at, folder / FILE)),
            keeper=keeper,
            writer=writer,
            post=mailbox.append,
        )
        parts = await open_parts(stack, basics)
        begins = await _opening(basics, parts)
        term = lease.Lease(folder, writer, basics.clock, basics.around)
        if await is_alone(basics, parts, begins, term):
            if not begins.is_takeover:
                begins = await _opening(basics, parts)  # the job before had its last word meanwhile
            if why := await standby.why_not(basics, parts, begins):
                await end(basics, f"{why}: this standby ends")
            else:
                await _turn(basics, parts, begins, term, mailbox)


def first_events(begins: Opening, report: Sequence[Event]) -> tuple[Event, ...]:
    """In the order in which the machine is to hear them.

    A SIGTERM that came while no supervisor lived goes before the open questions of the one that died: they are asked
    anew, and one of them could be the last before a launch.
    """
    is_ended = any(isinstance(each, KeeperReported) and signal.SIGTERM in each.signals for each in report)
    return (*report, begins.event) if begins.is_takeover and is_ended else (begins.event, *report)


def _each(*followers: Callable[[State], None]) -> Callable[[State], None]:
    """Tells all of them of a new state."""

    def tell(state: State) -> None:
        for follower in followers:
            follower(state)

    return tell


def _be_canary(keeper: KeeperLink) -> None:
    """A signal that reaches this process too was meant for the whole step: the keeper need not forward it."""
    loop = asyncio.get_running_loop()
    for number in _CANARIES:
        loop.add_signal_handler(number, keeper.signaled, number)


async def _opening(basics: Basics, parts: Parts) -> Opening:
    events = await asyncio.to_thread(read_events, basics.folder / FILE)
    return opening(
        events,
        run_id=basics.run.run_id,
        around=basics.around,
        settings=basics.settings,
        spares=min(basics.settings.spares, len(basics.around.nodes) - 1),
        walltime_at=parts.prospects.walltime_at,
        preempt_mode=parts.prospects.preempt_mode,
        standby=await asyncio.to_thread(standby_of, basics.folder, basics.around.raw_job_id),
        has_script=bool(basics.run.script_name),
        is_waited_for=await asyncio.to_thread(_is_waited_for, basics),
        takeover=begun_by(await asyncio.to_thread(takeovers, basics.folder), basics.around),
        last_seen=await asyncio.to_thread(last_told, basics.folder),
        now=basics.clock(),
    )


def _is_waited_for(basics: Basics) -> bool:
    """An sbatch with `--wait` waits for the job that it submitted: the run's first, and for no successor."""
    first = job_ids(basics.folder)[:1]
    return first == [basics.around.raw_job_id] and is_waited_for(basics.run, environment_of_the_job())


async def _turn(basics: Basics, parts: Parts, begins: Opening, term: lease.Lease, mailbox: list[Event]) -> None:
    """The one task group: eyes, hands, and the machine between them, until the keeper hangs up."""
    world = parts.world
    commenter = Commenter(world.slurm, basics.around.job_id, basics.clock, deadline_s=basics.settings.slurm_deadline_s)
    log = EventLog(basics.folder / FILE, basics.writer)
    # Before anything is done: a stop that is ordered again must know the script that it freezes.
    report = await eyes.first_report(world)
    if begins.is_takeover:
        # These agents have reported before: who is silent now died while nobody looked.
        world.has_submitted = True
        world.roster.expected_s = min(_REDISCOVERY_S, world.roster.expected_s)
    site = await site_hand(
        world, begins.state, is_takeover=begins.is_takeover, time_limit_s=parts.prospects.time_limit_s
    )
    async with asyncio.TaskGroup() as group:
        checker = Checker(parts.agents, rediscovery_s=_REDISCOVERY_S if begins.is_takeover else 0.0)
        hands = Hands(world, group, checker, commenter)
        driver = Driver(
            state=begins.state,
            settings=basics.settings,
            log=log,
            clock=basics.clock,
            carry_out=hands.carry_out,
            restarts=basics.around.restarts,
        )
        reporter = Reporter(world, parts, lambda: driver.state)
        driver.on_change = _each(reporter.changed, *([site.changed] if site else []))
        world.tell_site = site.incident if site else world.tell_site
        teller = Teller(world, basics.settings.notify.split(), lambda: driver.state)
        if basics.settings.notify:
            world.tell_person = teller.tell
        world.post = driver.post
        eyes.hear_last_signal(world, lambda: driver.state.stage is Stage.FINISHED)
        for event in (*first_events(begins, report), *mailbox):
            driver.post(event)
        # What must go on until the last word is said, and what ends with the keeper.
        machine = _begun(group, {"machine": driver.run(), "clock": driver.tick(), "notify": teller.run()})
        others = {"comment": commenter.run(), "report": reporter.run(), **({"site": site.run()} if site else {})}
        watching = _begun(group, {**_watches(basics, parts, begins, term, lambda: driver.state), **others})
        await eyes.watch_keeper(world)
        _cancel(watching)
        hands.let_go()
        if driver.state.stage is Stage.FINISHED:
            await parts.end()
            # A person may still cancel the run while this job leaves.
            await hands.over()
        await teller.leave()
        _cancel(machine)
    if site is not None:
        await site.close()


def _watches(
    basics: Basics, parts: Parts, begins: Opening, term: lease.Lease, state: Callable[[], State]
) -> dict[str, Coroutine[Any, Any, None]]:
    """What looks at the world for as long as the keeper does, by name."""

    def is_acting() -> bool:
        return (state().behind.mode or basics.settings.mode) == "act"

    world = parts.world
    found = {
        "agents": eyes.watch_agents(world, parts.agents),
        "time": eyes.watch_time(world),
        "orders": watch_orders(world),
        "output": eyes.watch_output(world),
        "agent_log": agent_log.keep_bounded(basics.folder, basics.writer),
        "runtime": keep_warm(),
        "broker": parts.bus.watch(lambda text: _log.warning("bus.noticed", text=text)),
        "lease": term.keep(generation=begins.generation, address=parts.address, held=lambda: state().held),
    }
    if basics.around.is_slurm:
        found["isolation"] = Isolation(world, term, parts.controllers, is_acting).watch()
    if basics.settings.rank_lines == "sattach" and basics.around.is_slurm:
        found["rank_lines"] = eyes.watch_steps(world)
    return found


def _begun(group: asyncio.TaskGroup, work: Mapping[str, Coroutine[Any, Any, None]]) -> list[asyncio.Task[None]]:
    return [group.create_task(each, name=name) for name, each in work.items()]


def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
