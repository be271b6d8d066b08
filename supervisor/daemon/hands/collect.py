"""Gathers the bundle of one incident into its folder, and diagnoses it."""

import asyncio
from dataclasses import replace
from functools import partial

import structlog

from supervisor.core.events import Diagnosed, SlurmReported
from supervisor.core.instructions import AskSlurm, Collect
from supervisor.daemon.evidence import failing, gathered
from supervisor.daemon.hands.ask import ask_slurm
from supervisor.daemon.hands.software import since_last_good
from supervisor.daemon.output import BEHIND_S
from supervisor.daemon.world import World
from supervisor.diagnose.bundle import Bundle, Log
from supervisor.diagnose.bundle_files import files_of
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.taxonomy import UNATTRIBUTED, cause
from supervisor.ledger.records import incident_folder
from supervisor.model.verdict import Verdict
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_LAST_LINES_S = 0.3
"""For the lines that srun and slurmstepd write when a task has ended."""
_QUIET_READS = 2
_STEP_FILES_S = 1.0
"""For the last lines of files that ranks write."""


async def collect(world: World, order: Collect) -> Diagnosed:
    """The verdict on what is known now. Evidence that does not come within the deadline is left out."""
    # Side by side: both together must leave the diagnosis its own time within the stage's deadline.
    job, _, environment = await asyncio.gather(
        _slurm_facts(world, order), _last_lines(world), since_last_good(world, order.attempt)
    )
    bundle = replace(gathered(world, order, job, await _step_files(world)), environment=environment)
    _keep(world, order, bundle)
    furthest = world.roster.furthest if world.roster.attempt == order.attempt else None
    verdict = await _judged(world, bundle)
    return Diagnosed(at=world.clock(), incident=order.incident, verdict=verdict, step=furthest)


async def _judged(world: World, bundle: Bundle) -> Verdict:
    """In a thread that nobody waits for longer than the deadline, nor at the end of the process."""
    deadline_s = world.settings.collect_deadline_s
    try:
        return await aside(partial(diagnose, bundle, world.signatures), deadline_s=deadline_s, name="diagnose")
    except TimeoutError:
        _log.warning("diagnose.cut", deadline_s=deadline_s)
        return _not_judged(f"the diagnosis did not end within {deadline_s:g} s; supervise replay judges it again")
    except Exception:  # noqa: BLE001  # a whole component: what it trips over must not cost the recovery its time
        _log.exception("diagnose.broke")
        return _not_judged("the diagnosis broke, see supervisor.log; supervise replay judges it again")


def _not_judged(why: str) -> Verdict:
    what = cause(UNATTRIBUTED)
    summary = f"{what.row.says}: {why}"
    return Verdict(cls=what.cls, cause=what.name, confidence=0.0, summary=summary, retry=what.row.retry, unread=(why,))


async def _slurm_facts(world: World, order: Collect) -> SlurmReported | None:
    """Slurm's word on a job that is ending; a lost node is proven already, and Slurm notices it half a minute later."""
    if order.lost_nodes:
        return None
    return await ask_slurm(world, AskSlurm())


async def _last_lines(world: World) -> None:
    """Read the output until it is quiet, for a bounded time."""
    quiet = 0
    try:
        async with asyncio.timeout(min(world.settings.collect_deadline_s, 10 * _LAST_LINES_S)):
            while quiet < _QUIET_READS:
                before = world.output.count
                await asyncio.sleep(BEHIND_S if world.output.is_behind else _LAST_LINES_S / _QUIET_READS)
                for event in await world.output.read(world.clock()):
                    world.post(event)
                is_quiet = world.output.count == before and not world.output.is_behind
                quiet = quiet + 1 if is_quiet else 0
    except TimeoutError:
        _log.info("collect.cut", what="output that does not become quiet")


async def _step_files(world: World) -> tuple[Log, ...]:
    """What ranks wrote into files of their own; a filesystem that hangs costs these."""
    if not world.step_files.is_used:
        return ()
    try:
        wanted = failing(world)
        return await aside(partial(world.step_files.logs, wanted), deadline_s=_STEP_FILES_S, name="step_files")
    except (TimeoutError, OSError) as exc:
        _log.warning("step_files.not_read", reason=exc)
        return ()


def _keep(world: World, order: Collect, bundle: Bundle) -> None:
    """Before it is judged: whatever becomes of that, it can be judged again."""
    folder = incident_folder(world.folder, order.incident)
    for name, content in files_of(bundle).items():
        world.writer.write(folder / name, content)
