"""Where the run stands when this supervisor begins: new, in a new job, or left behind by one that died."""

from collections.abc import Sequence
from dataclasses import dataclass

from supervisor.core.events import Event, RunStarted, SupervisorStarted
from supervisor.core.machine import replay
from supervisor.core.state import State
from supervisor.core.summary import carried
from supervisor.daemon.surroundings import Surroundings
from supervisor.model.ids import RunId
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
    events: Sequence[Event],
    *,
    run_id: RunId,
    around: Surroundings,
    settings: Settings,
    spares: int,
    walltime_at: float | None,
    now: float,
) -> Opening:
    """What the log of this run means for the job that we are in. Pure."""
    before = replay(events, settings)
    started = [event for event in events if isinstance(event, RunStarted)]
    if started and (started[-1].job_id, started[-1].restarts) == (around.job_id, around.restarts):
        since = events[events.index(started[-1]) :]
        generation = 2 + sum(isinstance(event, SupervisorStarted) for event in since)
        return Opening(before, SupervisorStarted(at=now, generation=generation), generation)
    event = RunStarted(
        at=now,
        run_id=run_id,
        job_id=around.job_id,
        nodes=around.nodes,
        batch_host=around.here,
        spares=spares,
        walltime_at=walltime_at,
        restarts=around.restarts,
        carried=carried(before, events[-1].at) if started else None,
    )
    return Opening(before if started else State(), event, 1)
