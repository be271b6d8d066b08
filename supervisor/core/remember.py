"""What a run remembers of a failure and of what was decided, for the next attempt and the next failure."""

from supervisor.core.policy import Decision, is_compared
from supervisor.core.turn import Turn
from supervisor.model.verdict import Verdict


def remember(turn: Turn, verdict: Verdict, decision: Decision) -> None:
    """The failure, for the comparison with the next one of its kind; and what the next attempt must know."""
    behind = turn.state.behind
    if is_compared(verdict):
        turn.change_behind(fingerprint=verdict.fingerprint, fingerprint_step=behind.furthest_step)
    if decision.distrust:
        turn.change_behind(distrusted=_with(behind.distrusted, decision.distrust))
    if decision.skip:
        turn.change_behind(skip=_with(behind.skip, decision.skip))
    turn.set(not_before=turn.at + decision.wait_s if decision.wait_s else None)


def _with(known: tuple[str, ...], new: str) -> tuple[str, ...]:
    """Once each, the newest last."""
    return (*(one for one in known if one != new), new)
