"""All corrections of some runs, as a list."""

from collections.abc import Iterator, Sequence

from supervisor.cli.answer import json_answer
from supervisor.ledger.feedback import Feedback
from supervisor.model.ids import IncidentNo
from supervisor.report.correction import corrected_json
from supervisor.report.view import RunView
from supervisor.report.words import count, names, one_line, table

_NOTE_CHARS = 60


def list_text(views: Sequence[RunView]) -> Iterator[str]:
    """How many, and one row for each."""
    rows = [_row(*one) for one in _all(views)]
    yield _conclusion(len(rows))
    if rows:
        yield from table(("RUN", "INCIDENT", "WAS", "IS", "NODES", "NOTE"), rows)


def list_json(views: Sequence[RunView]) -> str:
    """One object with all of them."""
    found = [
        {"run_id": view.run.run_id, "job_id": view.job_id, "incident": number, **(corrected_json(feedback) or {})}
        for view, number, feedback in _all(views)
    ]
    return json_answer(conclusion=_conclusion(len(found)), corrections=found)


def _conclusion(number: int) -> str:
    return f"{count(number, 'correction').capitalize()} known here."


def _all(views: Sequence[RunView]) -> Iterator[tuple[RunView, IncidentNo, Feedback]]:
    for view in views:
        for number, feedback in sorted(view.feedback.items()):
            yield view, number, feedback


def _row(view: RunView, number: IncidentNo, feedback: Feedback) -> tuple[str, ...]:
    is_now = f"{feedback.cls}/{feedback.cause}"
    nodes, note = names(feedback.nodes), one_line(feedback.note, _NOTE_CHARS)
    return (view.run.run_id, str(number), feedback.was, is_now, nodes, note)
