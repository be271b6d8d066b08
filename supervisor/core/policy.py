"""Verdict, budgets and nodes to one decision. Pure; every reason to stop is one function of the table."""

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from supervisor.core import halted, ladder
from supervisor.core.accounting import is_too_much_lost, lost_share
from supervisor.core.placement import Placement, leaving, place
from supervisor.core.policy_table import row
from supervisor.core.state import State
from supervisor.core.wording import names, planned_action
from supervisor.model.base import Fact
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Class, Retry, Verdict
from supervisor.settings import Settings

_FACTS: Final = "facts.json"
"""Evidence that is no line of the job's: here the script's own status."""
_DRAINS: Final = 2
"""The first may be that node's own fault."""
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
    wait_s: float = 0.0
    """Pause before the next attempt starts."""
    skip: str = ""
    """What the program is asked to leave out: a file, or `step N`."""
    distrust: str = ""
    """The checkpoint that is not used again."""
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
    wait_s = row(verdict, settings.policy).pause(state.behind.restarts_by.get(verdict.cause, 0))
    is_too_late = bool(wait_s) and state.walltime_at is not None and at + wait_s >= state.walltime_at
    # A pause that the job does not live through would keep its nodes for nothing.
    placement = None if is_too_late else place(state, settings)
    decision = _resubmission(state) if placement is None else _relaunch(state, placement, wait_s)
    skip = verdict.skip if verdict.retry is Retry.SKIP else ""
    return msgspec.structs.replace(decision, skip=skip, distrust=_distrusted(verdict, state, settings))


def _relaunch(state: State, placement: Placement, wait_s: float) -> Decision:
    drop = leaving(state)
    text = planned_action(placement.how, nodes=placement.nodes, drop=drop, wait_s=wait_s)
    return Decision(
        action=placement.how, nodes=placement.nodes, drop=drop, exclude=excluded(state), wait_s=wait_s, text=text
    )


def _resubmission(state: State) -> Decision:
    exclude = excluded(state)
    how = "requeue" if ladder.first(state) == "requeue" else "resubmit"
    return Decision(action="resubmit", exclude=exclude, text=planned_action(how, drop=exclude))


def _distrusted(verdict: Verdict, state: State, settings: Settings) -> str:
    """The checkpoint that the attempt could not even begin with. What it wrote later is another one."""
    attempt = state.attempt
    if attempt is None or attempt.resumed_from is None or not row(verdict, settings.policy).rollback:
        return ""
    return "" if attempt.step is not None and attempt.step > (attempt.resumed_step or 0) else attempt.resumed_from


def _halted(_verdict: Verdict, state: State, _settings: Settings, _at: float) -> str:
    return halted.words(state.halt) if state.halt else ""


def _not_retryable(verdict: Verdict, state: State, settings: Settings, _at: float) -> str:
    match verdict.retry:
        case Retry.NO if row(verdict, settings.policy).one_more and _has_got_somewhere(state):
            return ""
        case Retry.YES | Retry.ONCE:
            return ""
        case Retry.SKIP:
            return _not_left_out(verdict, state, settings)
        case Retry.NEVER:
            return "a person ended it"
        case Retry.NO:
            return "a rerun without a change would fail the same way"


def _not_left_out(verdict: Verdict, state: State, settings: Settings) -> str:
    if not settings.skip_data or not verdict.skip:
        return "the data must be repaired or left out before a rerun can help"
    if verdict.skip in state.behind.skip:
        return f"the program was asked to leave out {verdict.skip}, and has met it again"
    return ""


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
    if not is_compared(verdict) or verdict.fingerprint != state.behind.fingerprint or _is_further(state):
        return ""
    return "the same failure as before, with no new step between"


def is_compared(verdict: Verdict) -> bool:
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


def _of_this_kind(verdict: Verdict, state: State, settings: Settings, _at: float) -> str:
    for limit in row(verdict, settings.policy).limits:
        behind = state.behind.restarts_by.get(limit.name, 0)
        if behind >= limit.budget:
            return (
                f"{behind} restarts for {limit.name} are behind this run (policy: {limit.name}.budget={limit.budget})"
            )
    return ""


def _drained(_verdict: Verdict, state: State, _settings: Settings, _at: float) -> str:
    drained = state.behind.kill_failed
    if len(drained) < _DRAINS:
        return ""
    return f"Slurm drained {names(drained)} after our stops (Kill task failed): each further stop may cost a node"


def _lost_share(_verdict: Verdict, state: State, settings: Settings, at: float) -> str:
    if not is_too_much_lost(state, settings, at):
        return ""
    share = lost_share(state, at)
    return (
        f"interruptions have cost {share:.0%} of the requested node time (max_lost_share = {settings.max_lost_share})"
    )


_Rule = Callable[[Verdict, State, Settings, float], str]
_BUDGETS: Final[tuple[_Rule, ...]] = (_restarts, _without_progress, _of_this_kind, _drained, _lost_share)
_RULES: Final[tuple[_Rule, ...]] = (_halted, _not_retryable, _own_end, _same_again, *_BUDGETS)
