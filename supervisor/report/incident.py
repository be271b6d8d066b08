"""One incident for a person and for a script. Pure."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any, Final

from supervisor.ledger.feedback import Feedback
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.verdict import Class, Evidence, Verdict
from supervisor.report.correction import corrected_text
from supervisor.report.evidence import each_line_once
from supervisor.report.view import full
from supervisor.report.words import clock, duration, names, one_line

_EVIDENCE_ROWS: Final = 6
_WIDTH: Final = 118
_SHOWN_FROM_S: Final = 0.05
"""A part of the recovery that took less is left out of the text."""
_WOULD: Final = "mode act would: "
_GOES_ON: Final = frozenset({"relaunch", "relaunch_on_spare", "relaunch_smaller", "resubmit", "requeue"})
"""Actions after which the ranks are meant to run again."""


def where(verdict: Verdict) -> str:
    """`gpu017 GPU 3` where a GPU is at fault, `node003`, `rank 37 on node003`; `-` where nobody is named."""
    blame = verdict.blame
    if blame.gpus and (verdict.cls is Class.HARDWARE or verdict.exclude_nodes or not blame.ranks):
        return names([f"{one.node} GPU {one.gpu}" for one in blame.gpus])
    if not blame.ranks or verdict.exclude_nodes:
        return names(blame.nodes)
    ranks = f"rank{'s' * (len(blame.ranks) > 1)} {names([str(rank) for rank in blame.ranks])}"
    return f"{ranks} on {names(blame.nodes)}" if blame.nodes else ranks


def nodes(record: IncidentRecord) -> tuple[str, ...]:
    """The nodes that the verdict blames."""
    return record.verdict.blame.nodes or record.verdict.exclude_nodes


def as_json(record: IncidentRecord) -> dict[str, Any]:
    """Every field of the record, and the ones that scripts ask for most at the top."""
    verdict = record.verdict
    return {
        **full(record),
        "class": str(verdict.cls),
        "cause": verdict.cause,
        "nodes": list(nodes(record)),
        "detection_s": record.split.detect,
        "recovery_s": record.recovery_s,
        "action": record.action,
    }


def as_text(record: IncidentRecord, *, now: float, feedback: Feedback | None = None) -> Iterator[str]:
    """The lines: what and where, a person's word on it, the times, what was done, the evidence."""
    verdict = record.verdict
    head = f"{verdict.cls}/{verdict.cause}  {where(verdict)}"
    sure = "" if verdict.cls is Class.UNKNOWN else f"   confidence {verdict.confidence:.2f}"
    yield f"{record.incident:>2}  {clock(record.opened_at, now=now)}  {head}{sure}"
    if verdict.summary:
        yield f"    {one_line(verdict.summary, _WIDTH)}"
    if feedback is not None:
        yield f"    {corrected_text(feedback)}"
    if times := _times(record):
        yield f"    {times}"
    if done := _done(record):
        yield f"    {one_line(done, _WIDTH)}"
    if verdict.changed is not None:
        yield from _changed(verdict.changed.text)
    yield from _evidence(verdict.evidence)


def _changed(text: str) -> Iterator[str]:
    """All of it; an option such as `--max-steps` is not torn apart."""
    yield from wrap(
        f"changed   {text}", _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 14, break_on_hyphens=False
    )


def _times(record: IncidentRecord) -> str:
    """A planned end is no fault: it was not detected, and nothing recovers from it."""
    if record.verdict.cls is Class.PLANNED:
        return ""
    split = record.split
    detected = [f"detected {duration(split.detect)}"] if split.detect is not None else []
    verdict = [f"verdict {duration(split.collect)}"] if split.collect is not None else []
    return ", ".join([*detected, *verdict, *_recovery(record)])


def _recovery(record: IncidentRecord) -> list[str]:
    """`running again 1.8 s: stop 0.5 s, launch 1.3 s; then init 3.1 s, catch up 16 s`."""
    split = record.split
    before = _parts(split, ("decide", "stop", "launch"))
    if record.recovery_s is None:
        is_missing = record.action in _GOES_ON and not record.is_closed
        return [f"not running again yet{': ' * bool(before)}{before}"] if is_missing else []
    after = _parts(split, ("init", "catch_up"))
    ready = f"running again {duration(record.recovery_s)}{': ' * bool(before)}{before}"
    return [ready + (f"; then {after}" if after else "")]


def _parts(split: Split, wanted: tuple[str, ...]) -> str:
    known = [(name.replace("_", " "), getattr(split, name)) for name in wanted]
    return ", ".join(f"{name} {duration(took)}" for name, took in known if took is not None and took >= _SHOWN_FROM_S)


def _done(record: IncidentRecord) -> str:
    text = record.action_text
    if record.action == "observe":
        return f"in mode act: {text.partition(_WOULD)[2] or text}"
    if record.verdict.cls is Class.PLANNED and text == record.verdict.summary:
        return ""
    resumed = [f"resumed at step {record.resumed_step:,}"] if record.resumed_step is not None else []
    lost = [f"{record.steps_lost:,} step{'s' * (record.steps_lost != 1)} lost"] if record.steps_lost is not None else []
    return "; ".join(filter(None, (text, ", ".join([*resumed, *lost]))))


def _evidence(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    """Roots first; an echo is only shown where there is room."""
    lines = each_line_once(evidence)
    shown = lines[:_EVIDENCE_ROWS]
    width = max((len(one.source) for one in shown), default=0)
    for one in shown:
        text = one_line(one.text, _WIDTH - width - 18)
        yield f"      {one.source:<{width}}  {text}   [{one.role}]"
    if len(lines) > len(shown):
        yield f"      and {len(lines) - len(shown)} more"
