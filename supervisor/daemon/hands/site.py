"""This job's file in the site's ledger: begun with the job, a line for each interruption, and what the job has used.

The ledger's filesystem has a thread of its own: whatever happens there costs lines of the ledger and nothing else.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import structlog

from supervisor.core.state import Stage, State
from supervisor.core.usage import Usage, begun, computing, counted, held
from supervisor.daemon.world import World
from supervisor.ledger.site.append import SiteFile
from supervisor.ledger.site.from_record import rounded, site_incident
from supervisor.ledger.site.names import run_key
from supervisor.ledger.writer import Writer
from supervisor.model.base import Fact, encode
from supervisor.model.ids import JobId
from supervisor.model.records import IncidentRecord
from supervisor.model.site import End, SiteIncident, SiteJob, SiteUse
from supervisor.model.verdict import CANCELS
from supervisor.settings import Settings
from supervisor.telemetry.aside import aside
from supervisor.version import VERSION

_log = structlog.stdlib.get_logger(__name__)

_REMEMBER_S = 60.0
"""What a supervisor that is killed has counted and its successor does not know."""
_USE_S = 3600.0
_LEAVE_S = 0.5
"""For the last line: the keeper waits three seconds for all of us."""
_READ_S = 3.0


class KeptUsage(Fact, frozen=True, kw_only=True):
    """`usage.json`: what this job has used, for a supervisor that takes over."""

    job_id: JobId
    restarts: int
    usage: Usage


class SiteHand:
    """Follows the state and writes what a site keeps of it; does nothing where the site keeps no ledger."""

    def __init__(self, world: World, state: State, usage: Usage | None, file: Callable[[State], SiteFile]) -> None:
        """`usage`: of this job so far; None: it begins with the next state."""
        self._world = world
        self._state = state
        self._usage = usage
        self._new_file = file
        self._file = file(state) if usage else None
        self._writer = Writer()
        self._run = run_key(world.run.run_id)
        self._end: End = _end_of(state) if usage else ""
        self._used_at = world.clock()
        self._waiting: list[SiteIncident] = []

    def changed(self, state: State) -> None:
        """The machine has handled an event. Whatever breaks here must not reach it."""
        try:
            self._follow(state)
        except Exception:  # noqa: BLE001  # a whole component: the run goes on without a ledger
            _log.exception("site.broke")

    def incident(self, record: IncidentRecord) -> None:
        """The record of an interruption was written, or written again."""
        self._waiting.append(site_incident(record, self._run))
        self._tell_waiting()

    async def run(self) -> None:
        """Keep what was counted, every minute, and tell it every hour."""
        while True:
            await asyncio.sleep(_REMEMBER_S)
            try:
                self._remember()
                if self._world.clock() - self._used_at >= _USE_S and not self._end:
                    self._tell_use()
            except Exception:  # noqa: BLE001  # as in `changed`
                _log.exception("site.broke")

    async def close(self) -> None:
        """The process ends: what is not written by now is lost."""
        if not await self._writer.flushed(_LEAVE_S):
            _log.warning("site.unwritten", reason="the ledger gives no answer")
        self._writer.close(0.0)

    def _follow(self, state: State) -> None:
        before, self._state = self._state, state
        if self._usage is None or self._file is None:
            self._begin(state)
            return
        self._usage = counted(self._usage, before, state, self._world.clock())
        end = _end_of(state)
        if end != self._end:
            self._end = end
            self._remember()
            self._tell_use()

    def _begin(self, state: State) -> None:
        self._usage = begun(state, state.started_at)
        file = self._file = self._new_file(state)
        self._writer.do(file.begin)
        self._tell_waiting()
        self._remember()
        self._tell_use()

    def _tell_waiting(self) -> None:
        """A record may be ordered by the job's very first event, before the file is begun."""
        file = self._file
        if file is not None:
            for line in self._waiting:
                self._writer.do(partial(file.add, line))
            self._waiting = []

    def _tell_use(self) -> None:
        usage, state, file = self._usage, self._state, self._file
        if usage is None or file is None:
            return
        self._used_at = now = self._world.clock()
        line = SiteUse(
            at=rounded(now),
            job=state.job_id,
            run=self._run,
            held_node_s=rounded(held(usage, state, now)),
            computing_node_s=rounded(computing(usage, state, now)),
            restarts=max(0, state.behind.restarts - usage.restarts_before),
            step=state.behind.furthest_step,
            end=_end_of(state),
        )
        self._writer.do(lambda: file.add(line))

    def _remember(self) -> None:
        if self._usage is not None:
            kept = KeptUsage(job_id=self._state.job_id, restarts=self._world.around.restarts, usage=self._usage)
            self._world.writer.write(self._world.folder / "usage.json", encode(kept))


async def site_hand(
    world: World,
    state: State,
    *,
    is_takeover: bool,
    time_limit_s: float | None,
    env: Mapping[str, str] = os.environ,
) -> SiteHand | None:
    """The hand for this job; None where its site keeps no ledger, or none of jobs like this one."""
    settings = world.settings
    if not settings.ledger or not world.around.is_slurm or _is_left_out(settings, env.get("SLURM_JOB_PARTITION", "")):
        return None
    root = Path(world.run.workdir or "/") / settings.ledger
    usage = await _usage_so_far(world, state) if is_takeover else None

    def file(of: State) -> SiteFile:
        return SiteFile(root, _job(of, env, time_limit_s), users=settings.ledger_users)

    return SiteHand(world, state, usage, file)


def _is_left_out(settings: Settings, partition: str) -> bool:
    """Also where nobody knows the partition: it may be one of those."""
    without = {name.strip() for name in settings.ledger_without.split(",")} - {""}
    return bool(without) and (not partition or partition in without)


def _job(state: State, env: Mapping[str, str], time_limit_s: float | None) -> SiteJob:
    gpus = env.get("SLURM_GPUS_ON_NODE", "")
    return SiteJob(
        at=rounded(state.started_at),
        cluster=env.get("SLURM_CLUSTER_NAME", ""),
        job=state.job_id,
        run=run_key(state.run_id),
        partition=env.get("SLURM_JOB_PARTITION", ""),
        nodes=state.nodes,
        gpus_per_node=int(gpus) if gpus.isascii() and gpus.isdigit() else 0,
        time_limit_s=time_limit_s,
        version=VERSION,
    )


async def _usage_so_far(world: World, state: State) -> Usage:
    try:
        return await aside(lambda: _known_usage(world, state), deadline_s=_READ_S, name="usage")
    except TimeoutError:  # a run folder that hangs: the run goes on, and its use is counted from its beginning
        return begun(state, state.started_at)


def _known_usage(world: World, state: State) -> Usage:
    """What the supervisor before has counted; from its job's beginning on where it left nothing."""
    try:
        kept = msgspec.json.decode((world.folder / "usage.json").read_bytes(), type=KeptUsage)
    except (OSError, msgspec.MsgspecError):
        return begun(state, state.started_at)
    is_same = (kept.job_id, kept.restarts) == (state.job_id, world.around.restarts)
    return kept.usage if is_same else begun(state, state.started_at)


def _end_of(state: State) -> End:
    """How the job ended, in the ledger's words; empty: it has not."""
    last, cause = state.finish, state.term.cause if state.term else ""
    if state.stage is not Stage.FINISHED or last is None:
        return ""
    if last.handed_over:
        return "handed_on"
    if cause in CANCELS:
        return "cancelled"
    if cause == "walltime":
        return "time_limit"
    if last.code == 0:
        return "completed"
    is_stopped = state.incident is not None and state.incident.record.action == "stop"
    return "stopped" if is_stopped else "failed"
