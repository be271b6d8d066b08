"""Verdict, budgets and nodes to one decision. Pure; every reason to stop is one function of the table."""

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from supervisor.core.accounting import is_too_much_lost, lost_share
from supervisor.core.placement import Placement, leaving, place
from supervisor.core.state import State
from supervisor.core.wording import planned_action
from supervisor.model.base import Fact
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Class, Retry, Verdict
from supervisor.settings import Settings

# Where the taxonomy says that a rerun does not help, but a bad sample, a bad GPU or a race can look just the same: one
# more try, if this attempt had got somewhere. The rule of equal failures stops the second time.
ONE_MORE_TRY: Final = frozenset(
    {
        "python_exception",
        "assertion_failed",
        "type_error",
        "division_by_zero",
        "device_mismatch",
        "cuda_illegal_access",
        "cuda_api_error",
        "device_side_assert",
        "collective_mismatch",
        "numerics_divergence",
    }
)

_FACTS: Final = "facts.json"
"""Evidence that is no line of the job's: here the script's own status."""
_OF_THE_PROGRAM: Final = frozenset({Class.UNKNOWN, Class.SOFTWARE})

Action = Literal["relaunch", "relaunch_on_spare", "relaunch_smaller", "resubmit", "stop", "observe"]


class Decision(Fact, frozen=True, kw_only=True):
    """What is done about one incident."""

    action: Action
    nodes: tuple[NodeName, ...] = ()
    """Where the next attempt will run, as far as is known before tier 0."""
    drop: tuple[NodeName, ...] = ()
    """Nodes that leave the job."""
    exclude: tuple[NodeName, ...] = ()
    """Nodes that another job must not get."""
    text: str = ""
    """One sentence for a person: what is done and why."""


def decide(verdict: Verdict, state: State, settings: Settings, at: float) -> Decision:
    """The decision for this verdict. `state.unfit` holds already the nodes that the verdict blames."""
    wanted = _decided(verdict, state, settings, at)
    if settings.mode == "observe":
        return Decision(action="observe", text=f"mode observe: nothing is done; mode act would: {wanted.text}")
    return wanted


def excluded(state: State) -> tuple[NodeName, ...]:
    """Nodes that another job of this run must not get, the newest first (the last are let go first)."""
    return tuple(dict.fromkeys([*reversed(tuple(state.unfit)), *state.behind.excluded]))


def _reason_to_stop(verdict: Verdict, state: State, settings: Settings, at: float) -> str:
    """Why no further start is allowed, in words; empty: one is."""
    return next((why for rule in _RULES if (why := rule(verdict, state, settings, at))), "")


def budget_used_up(verdict: Verdict, state: State, settings: Settings, at: float) -> str:
    """Which budget of the run forbids another start, in words; empty: none does."""
    return next((why for rule in _BUDGETS if (why := rule(verdict, state, settings, at))), "")


def _decided(verdict: Verdict, state: State, settings: Settings, at: float) -> Decision:
    why = _reason_to_stop(verdict, state, settings, at)
    if why:
        return Decision(action="stop", text=f"stopped: {why}")
    placement = place(state, settings)
    return _resubmission(state) if placement is None else _relaunch(state, placement)


def _relaunch(state: State, placement: Placement) -> Decision:
    drop = leaving(state)
    text = planned_action(placement.how, nodes=placement.nodes, drop=drop)
    return Decision(action=placement.how, nodes=placement.nodes, drop=drop, exclude=excluded(state), text=text)


def _resubmission(state: State) -> Decision:
    exclude = excluded(state)
    return Decision(action="resubmit", exclude=exclude, text=planned_action("resubmit", drop=exclude))


def _not_retryable(verdict: Verdict, state: State, _settings: Settings, _at: float) -> str:
    match verdict.retry:
        case Retry.NO if verdict.cause in ONE_MORE_TRY and _has_got_somewhere(state):
            return ""
        case Retry.YES | Retry.ONCE:
            return ""
        case Retry.SKIP:
            return "the data must be repaired or left out before a rerun can help"
        case Retry.NEVER:
            return "a person ended it"
        case Retry.NO:
            return "a rerun without a change would fail the same way"


def _has_got_somewhere(state: State) -> bool:
    """The attempt made a step of its own; where ranks never beat nobody can say, and it counts as one."""
    attempt = state.attempt
    if attempt is None:
        return False
    if attempt.step is None:
        return state.behind.furthest_step is None
    return attempt.step > (attempt.resumed_step or 0)


def _own_end(verdict: Verdict, state: State, _settings: Settings, _at: float) -> str:
    """A script that ends itself, with no step made and no sign of a fault but its status, said what it wanted to."""
    attempt = state.attempt
    if attempt is None or attempt.exit is None or attempt.is_stopping or verdict.cls not in _OF_THE_PROGRAM:
        return ""
    is_seen = attempt.failed_at is not None or attempt.failed_code is not None or attempt.step is not None
    has_line = any(each.role == "root" and each.source != _FACTS for each in verdict.evidence)
    return "" if is_seen or has_line else "the script ended by itself, and no rank was seen to fail"


def _same_again(verdict: Verdict, state: State, _settings: Settings, _at: float) -> str:
    if not _is_compared(verdict) or verdict.fingerprint != state.behind.fingerprint or _is_further(state):
        return ""
    return "the same failure as before, with no new step between"


def _is_compared(verdict: Verdict) -> bool:
    """Hardware and network have a budget instead: two nodes may die one after the other."""
    return bool(verdict.fingerprint) and verdict.cls not in {Class.HARDWARE, Class.NETWORK}


def _is_further(state: State) -> bool:
    furthest, then = state.behind.furthest_step, state.behind.fingerprint_step
    return furthest is not None and (then is None or furthest > then)


def _restarts(_verdict: Verdict, state: State, settings: Settings, _at: float) -> str:
    if state.behind.restarts < settings.max_restarts:
        return ""
    return f"{state.behind.restarts} restarts are behind this run (max_restarts = {settings.max_restarts})"


def _without_progress(_verdict: Verdict, state: State, settings: Settings, _at: float) -> str:
    if state.behind.restarts_without_progress < settings.max_restarts_without_progress:
        return ""
    limit = settings.max_restarts_without_progress
    return f"{state.behind.restarts_without_progress} restarts in a row brought no new step (limit {limit})"


def _lost_share(_verdict: Verdict, state: State, settings: Settings, at: float) -> str:
    if not is_too_much_lost(state, settings, at):
        return ""
    share = lost_share(state, at)
    return (
        f"interruptions have cost {share:.0%} of the requested node time (max_lost_share = {settings.max_lost_share})"
    )


_Rule = Callable[[Verdict, State, Settings, float], str]
_BUDGETS: Final[tuple[_Rule, ...]] = (_restarts, _without_progress, _lost_share)
_RULES: Final[tuple[_Rule, ...]] = (_not_retryable, _own_end, _same_again, *_BUDGETS)


def with_failure_noted(state: State, verdict: Verdict) -> State:
    """The state that remembers this failure for the comparison with the next one of its kind."""
    if not _is_compared(verdict):
        return state
    behind = msgspec.structs.replace(
        state.behind, fingerprint=verdict.fingerprint, fingerprint_step=state.behind.furthest_step
    )
    return msgspec.structs.replace(state, behind=behind)
