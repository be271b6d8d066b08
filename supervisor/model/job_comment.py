"""Slurm's Comment of a job: words for people, and behind them each interruption so that it can be read back.

`supervise: completed, 1 interruption [1 hardware/gpu_lost nodes=node017 at=1764580342 did=relaunch_on_spare …]`
Where Slurm's accounting keeps Comments, a site's report needs nothing else. Pure.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from supervisor.model.base import Fact
from supervisor.model.ids import IncidentNo, JobId, NodeName
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class, GpuRef

LIMIT: Final = 500
"""Characters of a Comment; slurmctld keeps each in memory."""
PREFIX: Final = "supervise: "
_MARKS_LIMIT: Final = 380
"""Of these for all marks: the words keep room for a sentence."""
_NAMES: Final = 4
"""Nodes or GPUs of one mark, most likely to blame first."""
_PLAIN: Final = str.maketrans("[]", "()")
"""Brackets are for marks: words may quote a log, which must not look like one."""
_VERDICT: Final = re.compile(r"(?P<number>\d{1,6}) (?P<cls>[a-z]+)/(?P<cause>\w{1,60})(?P<rest>(?: \S+)*)", re.ASCII)
_MORE: Final = re.compile(r"(\d{1,6}) earlier", re.ASCII)
_NAME: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)
_JOB: Final = re.compile(r"\d{1,12}(?:[_+]\d{1,9})?", re.ASCII)
_GPU: Final = re.compile(r"([\w.-]{1,64}):(\d{1,3})", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,15}(?:\.\d{1,6})?", re.ASCII)
_ACTION: Final = re.compile(r"[a-z_]{1,30}", re.ASCII)


class Mark(Fact, frozen=True, kw_only=True):
    """One interruption, as far as a Comment tells."""

    incident: IncidentNo
    job: JobId | None = None
    """The earlier job that it interrupted, where this one goes on with its run."""
    cls: Class
    cause: str
    confidence: float = 0.0
    nodes: tuple[NodeName, ...] = ()
    gpus: tuple[GpuRef, ...] = ()
    at: float = 0.0
    """When it was opened."""
    detect_s: float = 0.0
    action: str = "none"
    recovery_s: float | None = None
    lost_node_s: float = 0.0
    is_closed: bool = False


class Said(Fact, frozen=True, kw_only=True):
    """A Comment of ours, read back."""

    words: str = ""
    marks: tuple[Mark, ...] = ()
    """By number."""
    left_out: int = 0
    """Interruptions for which there was no room."""


def mark_of(record: IncidentRecord, job: JobId) -> Mark:
    """What the Comment of `job` tells of this record."""
    verdict = record.verdict
    return Mark(
        incident=record.incident,
        job=None if record.job_id == job else record.job_id,
        cls=verdict.cls,
        cause=verdict.cause,
        confidence=round(verdict.confidence, 2),
        nodes=tuple(name for name in verdict.blame.nodes if _NAME.fullmatch(name))[:_NAMES],
        gpus=tuple(gpu for gpu in verdict.blame.gpus if _NAME.fullmatch(gpu.node))[:_NAMES],
        at=round(record.opened_at),
        detect_s=round(record.split.detect or 0.0, 1),
        action=record.action,
        recovery_s=None if record.recovery_s is None else round(record.recovery_s, 1),
        lost_node_s=round(record.lost_node_seconds),
        is_closed=record.is_closed,
    )


def with_mark(marks: Sequence[Mark], record: IncidentRecord, job: JobId) -> tuple[Mark, ...]:
    """The marks of this job with the record's newest state."""
    return (*(mark for mark in marks if mark.incident != record.incident), mark_of(record, job))


def comment(words: str, marks: Sequence[Mark] = ()) -> str:
    """The whole Comment on one line of at most `LIMIT` characters; where room is short, the newest marks stay."""
    told = _told(sorted(marks, key=lambda mark: mark.incident))
    room = LIMIT - len(PREFIX) - len(told)
    line = " ".join(words.split()).translate(_PLAIN)
    return f"{PREFIX}{line if len(line) <= room else line[: room - 1].rstrip() + '…'}{told}"


def parse_comment(text: str) -> Said | None:
    """What the Comment tells; None: it is not one of ours. What cannot be read of it is left out."""
    if not f"{text} ".startswith(PREFIX):
        return None
    whole = text.removeprefix(PREFIX.strip()).strip()
    words, bracket, inside = whole.removesuffix("]").rpartition("[") if whole.endswith("]") else (whole, "", "")
    parts = [part.strip() for part in inside.split(";")]
    marks = {mark.incident: mark for part in parts if (mark := _parsed(part)) is not None}
    more = _MORE.fullmatch(parts[0])
    if bracket and not marks and more is None:
        return Said(words=whole)  # brackets of the words' own
    ordered = tuple(marks[number] for number in sorted(marks))
    return Said(words=words.strip(), marks=ordered, left_out=int(more[1]) if more else 0)


def _told(marks: Sequence[Mark]) -> str:
    if not marks:
        return ""
    texts = [_text(mark) for mark in marks]
    for first in range(len(texts)):
        head = [f"{first} earlier"] if first else []
        told = f" [{'; '.join([*head, *texts[first:]])}]"
        if len(told) <= _MARKS_LIMIT:
            return told
    return f" [{len(texts)} earlier]"


def _text(mark: Mark) -> str:
    fields = {
        "of": mark.job or "",
        "nodes": ",".join(mark.nodes),
        "gpus": ",".join(f"{gpu.node}:{gpu.gpu}" for gpu in mark.gpus),
        "at": f"{mark.at:.0f}",
        "seen": f"{mark.detect_s:g}",
        "did": mark.action,
        "back": "" if mark.recovery_s is None else f"{mark.recovery_s:.1f}",
        "lost": f"{mark.lost_node_s:.0f}",
        "sure": f"{mark.confidence:g}",
        "open": "" if mark.is_closed else "1",
    }
    shown = [f"{name}={value}" for name, value in fields.items() if value]
    return " ".join([f"{mark.incident} {mark.cls}/{mark.cause}", *shown])


def _parsed(text: str) -> Mark | None:
    match = _VERDICT.fullmatch(text)
    if match is None or match["cls"] not in set(Class):
        return None
    fields = dict(field.split("=", 1) for field in match["rest"].split() if "=" in field)
    return Mark(
        incident=IncidentNo(int(match["number"])),
        job=JobId(fields["of"]) if _JOB.fullmatch(fields.get("of", "")) else None,
        cls=Class(match["cls"]),
        cause=match["cause"],
        confidence=min(1.0, _number(fields, "sure") or 0.0),
        nodes=_listed(fields, "nodes", _node),
        gpus=_listed(fields, "gpus", _gpu),
        at=_number(fields, "at") or 0.0,
        detect_s=_number(fields, "seen") or 0.0,
        action=fields["did"] if _ACTION.fullmatch(fields.get("did", "")) else "none",
        recovery_s=_number(fields, "back"),
        lost_node_s=_number(fields, "lost") or 0.0,
        is_closed="open" not in fields,
    )


def _number(fields: Mapping[str, str], name: str) -> float | None:
    text = fields.get(name, "")
    return float(text) if _NUMBER.fullmatch(text) else None


def _listed(fields: Mapping[str, str], name: str, read: Callable[[str], Any]) -> tuple[Any, ...]:  # nodes or GPUs
    items = [read(item) for item in fields.get(name, "").split(",")]
    return tuple(item for item in items if item is not None)[:_NAMES]


def _node(text: str) -> NodeName | None:
    return NodeName(text) if _NAME.fullmatch(text) else None


def _gpu(text: str) -> GpuRef | None:
    match = _GPU.fullmatch(text)
    return GpuRef(node=NodeName(match[1]), gpu=int(match[2])) if match else None
