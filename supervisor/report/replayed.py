"""Verdicts of then beside those of today's rules, for a person and for a script. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from supervisor.ledger.feedback import Feedback
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Verdict
from supervisor.report.correction import agrees, corrected_json, corrected_text
from supervisor.report.incident import where
from supervisor.report.view import full
from supervisor.report.words import count, one_line, table

_WIDTH = 100
_TEACH = "a signature of your own can teach them (docs/signatures.md, --packs)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One incident, judged again."""

    record: IncidentRecord
    now: Verdict | None
    """None: it could not be judged again."""
    why_not: str = ""
    feedback: Feedback | None = None

    @property
    def then(self) -> Verdict:
        """What the supervisor said."""
        return self.record.verdict

    @property
    def differs(self) -> tuple[str, ...]:
        """Which of class, cause and blame are others today."""
        if self.now is None:
            return ()
        pairs = {
            "class": (self.then.cls, self.now.cls),
            "cause": (self.then.cause, self.now.cause),
            "blame": (self.then.blame, self.now.blame),
        }
        return tuple(name for name, (then, now) in pairs.items() if then != now)

    @property
    def agrees(self) -> bool | None:
        """Today's rules say what a person has said; None: nobody has, or it could not be judged again."""
        return None if self.now is None or self.feedback is None else agrees(self.now, self.feedback)


def replay_conclusion(found: Sequence[Replayed], version: str) -> tuple[str, tuple[str, ...]]:
    """One sentence, and what is in the way: corrections that these rules, of `version`, do not bear out."""
    judged = [one for one in found if one.now is not None]
    if not judged:
        return "Nothing to replay: no incident of this run has kept its evidence.", ()
    changed = sum(bool(one.differs) for one in judged)
    how = f"{changed} of them judged differently" if changed else "all judged as before"
    wrong = [one for one in judged if one.agrees is False]
    against = tuple(
        f"incident {one.record.incident}: today's rules do not agree with the person; {_TEACH}" for one in wrong
    )
    return f"{count(len(judged), 'incident')} replayed with the rules of supervise {version}: {how}.", against


def replay_text(found: Sequence[Replayed]) -> Iterator[str]:
    """Then and now side by side, the proof of a verdict that is new, and a person's word."""
    rows = [row for one in found for row in _rows(one)]
    if rows:
        yield from table(("", "", "VERDICT", "WHO", "CONFIDENCE"), rows)
    for one in found:
        number = one.record.incident
        if one.why_not:
            yield f"{number}  not replayed: {one.why_not}"
        if one.now is not None and one.differs:
            yield f"{number}  differs in {', '.join(one.differs)}; now: {one_line(one.now.summary, _WIDTH)}"
        if one.feedback is not None:
            yield f"{number}  {corrected_text(one.feedback)}{_AGREES[one.agrees]}"


_AGREES = {True: ": today's rules agree", False: ": today's rules do NOT agree", None: ""}


def replay_json(found: Sequence[Replayed]) -> dict[str, Any]:
    """One object per incident."""
    return {"incidents": [_json(one) for one in found]}


def _rows(one: Replayed) -> Iterator[tuple[str, ...]]:
    if one.now is None:
        return
    number = str(one.record.incident)
    if not one.differs:
        yield number, "then, now", *_cells(one.now)
        return
    yield number, "then", *_cells(one.then)
    yield "", "now", *_cells(one.now)


def _cells(verdict: Verdict) -> tuple[str, str, str]:
    return f"{verdict.cls}/{verdict.cause}", where(verdict), f"{verdict.confidence:.2f}"


def _json(one: Replayed) -> dict[str, Any]:
    return {
        "incident": one.record.incident,
        "is_equal": None if one.now is None else not one.differs,
        "differs": list(one.differs),
        "then": _verdict(one.then),
        "now": _verdict(one.now) if one.now is not None else None,
        "corrected": corrected_json(one.feedback),
        "agrees": one.agrees,
        "why_not": one.why_not,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    built: dict[str, Any] = full(verdict)
    return {"class": str(verdict.cls), **{name: value for name, value in built.items() if name != "cls"}}
