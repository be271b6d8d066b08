"""Where the run stands when this supervisor begins: new, in a new job, or left behind by one that died."""

from collections.abc import Sequence
from dataclasses import dataclass

from supervisor.core.events import Event, RunStarted, SupervisorStarted
from supervisor.core.machine import replay
from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.core.state import State
from supervisor.core.summary import carried
from supervisor.daemon.surroundings import Surroundings
from supervisor.model.ids import JobId, RunId
from supervisor.settings import Settings


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
    now: float,
) -> Opening:
    """What the log of this run means for the job that we are in. Pure."""
    before = replay(events, settings)
    started = [at for at, event in enumerate(events) if isinstance(event, RunStarted | Snapshot)]
    if started and _job(events[started[-1]]) == (around.job_id, around.restarts):
        since = events[started[-1] :]
        generation = 1 + _supervisors(since[0]) + sum(isinstance(event, SupervisorStarted) for event in since)
        return Opening(before, SupervisorStarted(at=now, generation=generation), generation)
    event = RunStarted(
        at=now,
        run_id=run_id,
        job_id=around.job_id,
        nodes=around.nodes,
        batch_host=around.here,
        spares=spares,
        walltime_at=walltime_at,
        preempt_mode=preempt_mode,
        restarts=around.restarts,
        carried=carried(before, events[-1].at) if started else None,
    )
    return Opening(before if started else State(), event, 1)


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
