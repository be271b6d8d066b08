"""Which lines prove each interruption of a report. Pure: the records are at hand."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from supervisor.ledger.site.names import run_key
from supervisor.model.records import IncidentRecord
from supervisor.report.evidence import each_line_once
from supervisor.report.fleet.model import FleetReport, Interruption

_LINES: Final = 40
"""Of one interruption: roots come first."""
_WIDTH: Final = 2_000
_TOTAL: Final = 16 << 20
"""Characters of log lines in the whole."""
_DIGITS: Final = 3
"""A ledger's times are to the millisecond."""
NO_FOLDER: Final = "the run folder is not among those of who made this report"
NO_ROOM: Final = "left out: the lines before it fill what an archive may hold"

Key = tuple[str, float]


def by_key(records: Iterable[IncidentRecord]) -> dict[Key, IncidentRecord]:
    """By run and moment; a ledger has a digest for the run, a report on one's own runs its name."""
    found: dict[Key, IncidentRecord] = {}
    for record in records:
        at = round(record.opened_at, _DIGITS)
        found[run_key(record.run_id), at] = found[record.run_id, at] = record
    return found


def proof(
    report: FleetReport, records: Mapping[Key, IncidentRecord], *, redacted: Callable[[str], str], withheld: str = ""
) -> bytes:
    """A line of JSON for each interruption: its ids, and its log lines or why there are none.

    `withheld`: why no log lines are to be told at all.
    """
    room = _TOTAL
    lines = []
    for row in report.rows:
        record = records.get((row.run, round(row.at, _DIGITS)))
        told = _ids(row)
        reason = withheld or ("" if record else NO_FOLDER) or ("" if room > 0 else NO_ROOM)
        if record is None or reason:
            told |= {"lines": [], "why_none": reason}
        else:
            found = _lines(record, redacted)
            room -= sum(len(line["text"]) for line in found)
            told |= {"incident": record.incident, "lines": found, "more": _more(record)}
        lines.append(msgspec.json.encode(told))
    return b"".join(line + b"\n" for line in lines)


def _ids(row: Interruption) -> dict[str, Any]:
    return {
        "at": row.at,
        "cluster": row.cluster,
        "job": row.job,
        "run": row.run,
        "class": row.cls,
        "cause": row.cause,
        "confidence": row.confidence,
        "nodes": row.nodes,
        "gpus": row.gpus,
        "action": row.action,
    }


def _lines(record: IncidentRecord, redacted: Callable[[str], str]) -> list[dict[str, Any]]:
    return [
        {
            "source": redacted(one.source),
            "role": one.role,
            "signature": one.signature,
            "at": one.at,
            # First without secrets, then cut: half of a secret has no shape that one knows it by.
            "text": redacted(one.text)[:_WIDTH],
        }
        for one in each_line_once(record.verdict.evidence)[:_LINES]
    ]


def _more(record: IncidentRecord) -> int:
    """Lines that there was no room for."""
    return max(0, len(each_line_once(record.verdict.evidence)) - _LINES)
