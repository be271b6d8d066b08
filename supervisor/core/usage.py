"""What a job has used: node-seconds held, and those in which its ranks made steps that nobody had made before."""

import msgspec

from supervisor.core.state import Attempt, Stage, State
from supervisor.model.base import Fact


class Usage(Fact, frozen=True, kw_only=True):
    """Counted from one change of the state to the next."""

    held_node_s: float = 0.0
    """Up to `held_since`."""
    held_since: float
    stepping_node_s: float = 0.0
    """Between steps of one attempt, of which the later one was new to the run."""
    stepped_at: float | None = None
    """When the present attempt was seen at a step last."""
    running_node_s: float = 0.0
    """With ranks running, up to `running_since`."""
    running_since: float | None = None
    """None: no ranks run."""
    has_stepped: bool = False
    """Steps were seen in this job: then they tell what was computed."""
    restarts_before: int = 0
    """Of the run, when the job began."""


def begun(state: State, at: float) -> Usage:
    """Nothing is used yet."""
    return Usage(held_since=at, restarts_before=state.behind.restarts)


def counted(usage: Usage, before: State, after: State, at: float) -> Usage:
    """What was used by now, and from what the state has become what counts from now on."""
    usage = _stepped(usage, before, after, at)
    usage = _run(usage, before, after, at)
    if before.held == after.held:
        return usage
    return msgspec.structs.replace(usage, held_node_s=held(usage, before, at), held_since=at)


def held(usage: Usage, state: State, at: float) -> float:
    """Node-seconds of the allocation until now, spares too."""
    return usage.held_node_s + len(state.held) * max(0.0, at - usage.held_since)


def computing(usage: Usage, state: State, at: float) -> float:
    """Of those, the ones that brought the run further; where no steps are told, those with ranks running."""
    return min(held(usage, state, at), usage.stepping_node_s if usage.has_stepped else _running(usage, state, at))


def _stepped(usage: Usage, before: State, after: State, at: float) -> Usage:
    """An attempt begins without a step: the first one that is seen has none before it."""
    was, step = _step_of(before), _step_of(after)
    if step is None:
        return usage if usage.stepped_at is None else msgspec.structs.replace(usage, stepped_at=None)
    if step == was:
        return usage
    gained = 0.0
    if usage.stepped_at is not None and after.attempt is not None and _is_further(before, after):
        gained = len(after.attempt.nodes) * max(0.0, at - usage.stepped_at)
    stepping = usage.stepping_node_s + gained
    return msgspec.structs.replace(usage, stepping_node_s=stepping, stepped_at=at, has_stepped=True)


def _step_of(state: State) -> int | None:
    return state.attempt.step if state.attempt else None


def _is_further(before: State, after: State) -> bool:
    new, old = after.behind.furthest_step, before.behind.furthest_step
    return new is not None and (old is None or new > old)


def _run(usage: Usage, before: State, after: State, at: float) -> Usage:
    was, runs = _nodes_running(before), _nodes_running(after)
    if was == runs:
        return usage
    incident = after.incident
    # What came after the first evidence of an interruption was no computing.
    until = min(at, incident.record.evidence_at) if incident and not incident.record.is_closed else at
    return msgspec.structs.replace(
        usage, running_node_s=_running(usage, before, until), running_since=at if runs else None
    )


def _running(usage: Usage, state: State, at: float) -> float:
    if usage.running_since is None:
        return usage.running_node_s
    return usage.running_node_s + _nodes_running(state) * max(0.0, at - usage.running_since)


def _nodes_running(state: State) -> int:
    """Of an attempt whose ranks are there and that nothing has broken yet."""
    attempt: Attempt | None = state.attempt
    runs = state.stage in {Stage.RUNNING, Stage.ENDING} and attempt is not None and attempt.ranks_at is not None
    return len(attempt.nodes) if runs and attempt is not None and attempt.exit is None else 0
