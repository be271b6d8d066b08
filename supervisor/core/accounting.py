"""What interruptions cost: lost node-seconds, and the budget they are held against.

Requested node-seconds are the first job's nodes times its time limit, plus what later jobs of the run really used:
a chain of successors, each with a whole time limit, must not make the budget grow before anything was computed.
"""

import msgspec

from supervisor.core.state import State
from supervisor.settings import Settings

_FREE_S = 120.0
"""A tenth of a ten-minute job is one restart: losing two minutes is never too much."""


def requested_at_start(state: State) -> float:
    """What the first job asked for, in node-seconds; 0 for a later job, and where there is no time limit."""
    if not state.is_first_job or state.walltime_at is None:
        return 0.0
    return len(state.nodes) * max(0.0, state.walltime_at - state.started_at)


def requested(state: State, at: float) -> float:
    """Node-seconds that count as the run's request by now; 0: no limit is known."""
    if state.is_first_job:
        return state.behind.requested_node_seconds
    return state.behind.requested_node_seconds + len(state.held) * max(0.0, at - state.started_at)


def lost(state: State, at: float) -> float:
    """Node-seconds lost to interruptions so far, the one at hand included."""
    return state.behind.lost_node_seconds + open_loss(state, at)


def open_loss(state: State, at: float) -> float:
    """What the incident at hand has cost since its loss was booked last."""
    if state.incident is None or state.incident.record.is_closed:
        return 0.0
    nodes = len(state.incident.record.nodes_before) or len(state.held)
    return nodes * max(0.0, at - state.incident.lost_since)


def lost_share(state: State, at: float) -> float:
    """Lost against requested; 0 where no request is known."""
    asked = requested(state, at)
    return lost(state, at) / asked if asked else 0.0


def is_too_much_lost(state: State, settings: Settings, at: float) -> bool:
    """The budget of lost node-seconds is used up."""
    asked = requested(state, at)
    if not asked:
        return False
    free = len(state.nodes) * _FREE_S if settings.max_lost_share else 0.0
    return lost(state, at) > max(settings.max_lost_share * asked, free)


def booked(state: State, at: float) -> State:
    """The state with the loss of the incident at hand written to its record and to the run's count."""
    cost = open_loss(state, at)
    incident = state.incident
    if incident is None or not cost:
        return state
    record = msgspec.structs.replace(incident.record, lost_node_seconds=incident.record.lost_node_seconds + cost)
    behind = msgspec.structs.replace(state.behind, lost_node_seconds=state.behind.lost_node_seconds + cost)
    incident = msgspec.structs.replace(incident, record=record, lost_since=at)
    return msgspec.structs.replace(state, incident=incident, behind=behind)


def with_restart(state: State) -> State:
    """The state with one more restart on the run's count; without progress until a new step or checkpoint is seen."""
    behind = msgspec.structs.replace(
        state.behind,
        restarts=state.behind.restarts + 1,
        restarts_without_progress=state.behind.restarts_without_progress + 1,
        restarts_by=_counted(state),
    )
    return msgspec.structs.replace(state, behind=behind)


def _counted(state: State) -> dict[str, int]:
    """Restarts by cause and by class, with one more for those of the incident at hand."""
    by = dict(state.behind.restarts_by)
    if state.incident is not None and not state.incident.record.is_closed:
        verdict = state.incident.record.verdict
        for name in (verdict.cause, verdict.cls.value):
            by[name] = by.get(name, 0) + 1
    return by
