"""Where the run stands when this supervisor begins: new, in a new job, or left behind by one that died."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from supervisor.core.carried import Carried
from supervisor.core.events import Event, RunStarted, SupervisorStarted
from supervisor.core.machine import replay
from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.core.state import State
from supervisor.core.succession import begun_by_agent
from supervisor.core.summary import carried
from supervisor.daemon.surroundings import Surroundings
from supervisor.model.ids import JobId, RunId
from supervisor.model.takeover import Takeover
from supervisor.settings import Settings


@dataclass(frozen=True, slots=True)
class LastSeen:
    """What `status.json` told last."""

    job_id: JobId
    at: float
    step: int | None


@dataclass(frozen=True, slots=True)
class Opening:
    """The state to go on from, and the first event to handle."""

    state: State
    event: Event
    generation: int
    """Supervisors of this job so far, this one included."""

    @property
    def is_settled(self) -> bool:
        """What the job before this one ran was proven stopped: completing on a dead node does no harm."""
        attempt = self.state.attempt
        return attempt is None or attempt.is_gone

    @property
    def is_takeover(self) -> bool:
        """An earlier supervisor of this very job decided things before."""
        return self.generation > 1


def opening(
    events: Sequence[Recorded],
    *,
    run_id: RunId,
    around: Surroundings,
    settings: Settings,
    spares: int,
    walltime_at: float | None,
    preempt_mode: str,
    standby: JobId | None = None,
    has_script: bool = True,
    is_waited_for: bool = False,
    takeover: Takeover | None = None,
    last_seen: LastSeen | None = None,
    now: float,
) -> Opening:
    """What the log of this run means for the job that we are in. `takeover`: an agent has started it. Pure."""
    before = replay(events, settings)
    started = [at for at, event in enumerate(events) if isinstance(event, RunStarted | Snapshot)]
    if started and _job(events[started[-1]]) == (around.job_id, around.restarts):
        since = events[started[-1] :]
        generation = 1 + _supervisors(since[0]) + sum(isinstance(event, SupervisorStarted) for event in since)
        return Opening(before, SupervisorStarted(at=now, generation=generation), generation)
    behind = _carried(before, events, last_seen, now) if started else None
    if behind is not None and takeover is not None:
        behind = begun_by_agent(behind, takeover)
    event = RunStarted(
        at=now,
        run_id=run_id,
        job_id=around.job_id,
        nodes=around.nodes,
        batch_host=around.here,
        spares=spares,
        walltime_at=walltime_at,
        preempt_mode=preempt_mode,
        standby=standby,
        has_script=has_script,
        is_waited_for=is_waited_for,
        restarts=around.restarts,
        carried=behind,
    )
    return Opening(before if started else State(), event, 1)


def _carried(before: State, events: Sequence[Recorded], seen: LastSeen | None, now: float) -> Carried:
    """A supervisor that died with its node lived longer than its log tells: its picture for `status` says so."""
    if seen is None or seen.job_id != before.job_id:
        return carried(before, events[-1].at)
    return carried(before, max(events[-1].at, min(seen.at, now)), seen.step)


def begun_by(takeovers: Iterable[Takeover], around: Surroundings) -> Takeover | None:
    """The agent's claim that this start of this job follows from; None: no agent has started it."""
    job, before = around.raw_job_id, around.restarts - 1
    for each in takeovers:
        is_requeued = each.is_requeued and (each.job_id, each.restarts) == (job, before)
        if is_requeued or (each.successor == job and around.restarts == 0):
            return each
    return None


def _job(begin: Recorded) -> tuple[JobId, int] | None:
    """Id and restarts of the job that begins here, or whose log begins here."""
    match begin:
        case RunStarted():
            return begin.job_id, begin.restarts
        case Snapshot():
            return begin.state.job_id, begin.restarts
        case _:
            return None


def _supervisors(begin: Recorded) -> int:
    """How many the job has had up to here. Only the second and later ones give their number."""
    return max(1, begin.state.generation) if isinstance(begin, Snapshot) else 1
