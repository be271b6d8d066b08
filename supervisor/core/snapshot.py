"""A long log begun anew: where the run stands, in place of all events that led there."""

from supervisor.core.events import Event
from supervisor.core.state import State
from supervisor.model.base import Fact


class Snapshot(Fact, frozen=True, kw_only=True, tag="snapshot"):
    """Only ever the first line of `events.jsonl`; a replay goes on from its state."""

    at: float
    restarts: int
    """SLURM_RESTART_COUNT of the job, which its `RunStarted` said."""
    state: State


Recorded = Event | Snapshot
