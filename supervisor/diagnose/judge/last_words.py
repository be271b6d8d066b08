"""Complaints among a log's last lines that no signature knows: rules read what they say."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.scan.labels import split_label, writer_of
from supervisor.diagnose.scan.one_log import Scanned
from supervisor.diagnose.scan.progress import progress_of
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

RAISED: Final = "last_words_raised"
"""An exception's own line, whose traceback is not at hand."""
COMPLAINT: Final = "last_words"
"""Whatever else a program calls an error."""
_RAISED: Final = re.compile(r"(?:^|[\s.\]])[A-Za-z_]\w{0,60}(?:Error|Exception): \S")
_COMPLAINT: Final = re.compile(
    r"\bwhat\(\): |\b(?:CRITICAL|FATAL)(?: ERROR)?\b[:\] ]|\bE(?:RROR|XCEPTION)\b[:\] ]|\bCaused by: |\bpanicked at |"
    r"\b[Ff]atal error: |\b[Ee]rror: "
)
_MILD: Final = re.compile(r"\b(?:WARN(?:ING)?|INFO|DEBUG)\b|skipping|gnoring|gnored|retrying|except ")
_WORDS: Final = ("rror", "xception", "ERROR", "EXCEPTION", "FATAL", "CRITICAL", "what()", "Caused by", "panicked")
_CHARS: Final = 400
"""What is kept of a last line."""


def last_words(case: Case) -> list[Finding]:
    """Those after which their log reports no more progress, as findings without a cause."""
    known: dict[int, set[str]] = defaultdict(set)
    for one in case.findings:
        is_hint = one.role == "context" and (not one.cause or cause(one.cause).cls is Class.DATA)
        if not is_hint:
            known[one.order[0]].add(one.text[:_CHARS])
    logs = [(index, one) for index, one in enumerate(case.scanned) if one.log.kind in {"any", "ranks"}]
    return [found for index, log in logs for found in _of_log(log, index, known[index])]


def _of_log(log: Scanned, index: int, known: set[str]) -> Iterator[Finding]:
    told = [(at, line) for at, line in enumerate(log.end) if _may_complain(line) and line not in known]
    for at, line in told:
        is_raised = bool(_RAISED.search(line))
        if _MILD.search(line) or not (is_raised or _COMPLAINT.search(line)) or _went_on(line, log.end[at + 1 :]):
            continue
        writer = writer_of(line)
        number = log.lines - len(log.end) + at
        yield Finding(
            signature=RAISED if is_raised else COMPLAINT,
            role="context",
            source=f"{log.log.name}:{number}",
            text=line,
            order=(index, number),
            rank=writer.rank if writer.rank is not None else log.log.rank,
            node=writer.node or log.log.node,
        )


def _may_complain(line: str) -> bool:
    """Without these no line does: most are told by them."""
    return any(word in line for word in _WORDS)


def _went_on(line: str, later: Sequence[str]) -> bool:
    """Its writer, or one that no label tells, reports progress afterwards."""
    writers = {split_label(line)[0], None}
    told = (split_label(one) for one in later)
    return any(writer in writers and progress_of(0, text) for writer, text in told)
