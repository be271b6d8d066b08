"""A person's word on a verdict, for a person and for a script. Pure."""

from typing import Any

from supervisor.ledger.feedback import Feedback
from supervisor.model.verdict import Verdict
from supervisor.report.view import full
from supervisor.report.words import names, one_line

_NOTE_CHARS = 100


def corrected_text(feedback: Feedback) -> str:
    """`corrected by a person: software/cuda_oom on node003 (eval batch too large)`; the same cause is confirmed."""
    on = f" on {names(feedback.nodes)}" if feedback.nodes else ""
    note = f" ({one_line(feedback.note, _NOTE_CHARS)})" if feedback.note else ""
    says = f"{feedback.cls}/{feedback.cause}"
    deed = "confirmed" if feedback.was == says else "corrected"
    return f"{deed} by a person: {says}{on}{note}"


def corrected_json(feedback: Feedback | None) -> dict[str, Any] | None:
    """All of it, with `class` as answers call it."""
    if feedback is None:
        return None
    built: dict[str, Any] = full(feedback)
    return {**{name: value for name, value in built.items() if name != "cls"}, "class": str(feedback.cls)}


def agrees(verdict: Verdict, feedback: Feedback) -> bool:
    """The verdict says what the person says: cause, and every node that the person names is blamed."""
    return verdict.cause == feedback.cause and set(feedback.nodes) <= set(verdict.blame.nodes)
