"""Everything in a bundle that points at a cause, as findings that can be compared."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal

from supervisor.diagnose.bundle import Bundle, Log, short_pci
from supervisor.diagnose.lines import Hit, LineScanner
from supervisor.diagnose.traces import Frame, Trace, find_traces
from supervisor.model.ids import NodeName, Rank

_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ,](\d\d:\d\d:\d\d)")
_PROGRESS: Final = re.compile(r"\b(?:step|iter|iteration|global_step)\b[ :=/]{0,4}\d", re.IGNORECASE)
_TIME_CHARS: Final = 64
_WENT_ON: Final = 3
"""So many lines of progress after an exception show that somebody had caught it."""
_TRACE_WEIGHT: Final = 0.72
_FOLLOW_UP: Final = 0.1
_HITS: Final = 20_000
"""Hits that are kept of one log: its first ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that points at a cause, or that only says how something ended (no cause)."""

    cause: str
    role: Literal["root", "echo", "context"]
    weight: float
    source: str
    signature: str
    text: str
    order: tuple[int, int] = (0, 0)
    """Log and line."""
    time: float | None = None
    """For comparison within one bundle only: the log does not tell its time zone."""
    rank: Rank | None = None
    node: NodeName | None = None
    gpu: int | None = None
    code: int | None = None
    signal: int | None = None
    frame: Frame | None = None
    file: str | None = None
    names: str = ""
    """A list of nodes in Slurm's short form."""


def find(bundle: Bundle) -> list[Finding]:
    """All findings in the logs, in the order of the logs."""
    found: list[Finding] = []
    for index, log in enumerate(bundle.logs):
        found += _of_log(bundle, index, log)
    return found


def _of_log(bundle: Bundle, index: int, log: Log) -> list[Finding]:
    numbered = list(enumerate(log.lines, start=log.first))
    traces = {trace.number: trace for trace in find_traces(numbered, log.rank)}
    progress = [number for number, line in numbered if _PROGRESS.search(line)]
    scanner = LineScanner(kind=log.kind)
    found: list[Finding] = []
    for number, line in numbered:
        hits = scanner.hits(line)
        trace = traces.get(number)
        if trace and not any(hit.role != "context" for hit in hits):
            found.append(_of_trace(index, log, trace))
        found += [_of_hit(bundle, index, log, number, hit, trace) for hit in hits]
        if len(found) > _HITS:
            break
    return [_unless_went_on(finding, progress) for finding in found]


def _of_hit(bundle: Bundle, index: int, log: Log, number: int, hit: Hit, trace: Trace | None) -> Finding:
    node = hit.node or log.node
    gpu = hit.gpu
    if gpu is None and hit.pci and node:
        gpu = bundle.gpus.get((node, short_pci(hit.pci)))
    follow_up = _FOLLOW_UP if trace and trace.is_follow_up else 0.0
    return Finding(
        cause=hit.cause,
        role=hit.role,
        weight=hit.weight - follow_up,
        source=f"{log.name}:{number}",
        signature=hit.signature,
        text=hit.text.strip(),
        order=(index, number),
        time=time_of(hit.text),
        rank=hit.rank if hit.rank is not None else log.rank,
        node=node,
        gpu=gpu,
        code=hit.code,
        signal=hit.signal,
        frame=trace.top if trace else None,
        file=hit.file,
        names=hit.names,
    )


def _of_trace(index: int, log: Log, trace: Trace) -> Finding:
    return Finding(
        cause="python_exception",
        role="root",
        weight=_TRACE_WEIGHT - (_FOLLOW_UP if trace.is_follow_up else 0.0),
        source=f"{log.name}:{trace.number}",
        signature="python_traceback",
        text=trace.text.strip(),
        order=(index, trace.number),
        time=time_of(trace.text),
        rank=trace.rank,
        node=log.node,
        frame=trace.top,
    )


def _unless_went_on(finding: Finding, progress: list[int]) -> Finding:
    """An exception after which the program went on is context."""
    if finding.role != "root" or not (finding.frame or finding.signature.startswith("python_")):
        return finding
    after = sum(1 for number in progress if number > finding.order[1])
    return replace(finding, role="context") if after >= _WENT_ON else finding


def time_of(line: str) -> float | None:
    """Seconds since the epoch by the time at the line's beginning, as if it were UTC."""
    match = _TIME.search(line, 0, _TIME_CHARS)
    if match is None:
        return None
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def failures(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Those that say that a task failed by itself: not ended by TERM or KILL from outside."""
    for finding in findings:
        if (finding.code or finding.signal) and finding.signal not in {9, 15}:
            yield finding
