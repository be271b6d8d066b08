"""The record of a planned end: why the job was ended, and what becomes of the run."""

from supervisor.core import incident
from supervisor.core.turn import Turn
from supervisor.model.verdict import Class, Retry, Verdict


def keep(turn: Turn, cause: str, words: str, *, goes_on: bool, evidence_at: float) -> None:
    """An incident at hand ends with the job; otherwise the planned stop has a record of its own, once."""
    action = "requeue" if cause == "requeue" else "resubmit" if goes_on else "stop"
    current = turn.state.incident
    if is_of_attempt(turn, cause):
        return
    is_pending = current is not None and not current.record.is_closed and not incident.is_relaunched(turn)
    if is_pending and turn.incident.is_diagnosed:
        if not goes_on:
            incident.acted(turn, action=action, text=words)
        return
    if not is_pending:
        incident.open_incident(turn, evidence_at=evidence_at)
    incident.diagnosed(turn, _verdict(cause, words))
    incident.acted(turn, action=action, text=words)
    incident.close_planned(turn)


def is_of_attempt(turn: Turn, cause: str) -> bool:
    """The planned end of the present attempt is on record already."""
    current, attempt = turn.state.incident, turn.state.attempt
    if current is None or attempt is None or current.record.attempt != attempt.number:
        return False
    verdict = current.record.verdict
    return current.record.is_closed and (verdict.cls, verdict.cause) == (Class.PLANNED, cause)


def _verdict(cause: str, words: str) -> Verdict:
    match cause:
        case "unattributed":
            return Verdict(cls=Class.UNKNOWN, cause=cause, confidence=0.0, summary=words, retry=Retry.NEVER)
        case "node_failure":
            return Verdict(cls=Class.HARDWARE, cause="node_unreachable", confidence=0.7, summary=words, retry=Retry.YES)
        case "requeue":
            return Verdict(cls=Class.PLANNED, cause="maintenance", confidence=0.5, summary=words, retry=Retry.YES)
        case "user_cancel" | "user_stop":
            return Verdict(cls=Class.PLANNED, cause=cause, confidence=0.8, summary=words, retry=Retry.NEVER)
        case _:
            return Verdict(cls=Class.PLANNED, cause=cause, confidence=0.95, summary=words, retry=Retry.YES)
