"""Programs that say in their last lines, in their own words, that they were asked to end or ran out of time."""

import re
from collections.abc import Iterator
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.scan.labels import writer_of

_KEEPS: Final = r"\b(?:sav|checkpoint|writ|wrote|stopp?|exit|leav|finish|quit|shut|terminat|kill|cancel|flush)\w{0,5}\b"
_LIMIT: Final = (
    r"(?:\bwall[ -]?(?:clock[ -]?)?(?:time|limit)|\btime[ -]?(?:limit|budget)|"
    r"\bend of (?:the |its )?(?:allocation|job)|"
    r"\bmax[-_ ]?(?:time|run ?time|duration|wall\w{0,5}|minutes|hours)|\btime is (?:nearly |almost )?(?:up|over)|"
    r"\b(?:time|seconds|minutes|[sm]) (?:left|remain\w{0,3}) (?:in|of|until|before|for) (?:the |its |this )?"
    r"(?:job|alloc|limit|wall))"
)
_AGAIN: Final = r"(?:\bre-?(?:queu|submi)\w{1,6}|\bsbatch\b|\bchain\w{0,3}\b|\bnext (?:job|link)\b)"
_NOTICE: Final = r"(?:\bnotice|\bwarn|\bgrace\b|\brequeue)"
_BEGINS: Final = r"\b(?:start|begin|begun|began|window|reservation|imminent)\w{0,3}\b"
_OVER: Final = r"\b(?:reach|exceed|expir|over|up|hit|left)\w{0,4}\b"
_MEANINGS: Final = tuple(
    (cause, weight, re.compile(pattern, re.IGNORECASE))
    for cause, weight, pattern in (
        ("preemption", 0.7, rf"^(?=.*\bpre-?empt(?:ed|ion|ing)\b)(?=.*(?:{_KEEPS}|{_NOTICE}))"),
        ("maintenance", 0.7, rf"^(?=.*\bmaint(?:enance|_\w{{1,30}})\b)(?=.*{_BEGINS})(?=.*{_KEEPS})"),
        ("requeue_before_walltime", 0.7, rf"^(?=.*{_LIMIT})(?=.*{_AGAIN})"),
        ("walltime_warning_signal", 0.66, rf"^(?=.*\bSIGUSR[12]\b)(?=.*{_KEEPS})"),
        ("walltime", 0.7, rf"^(?=.*{_LIMIT})(?=.*{_OVER})(?=.*{_KEEPS})"),
        ("user_stop", 0.66, r"\b(?:interrupted|stopped|aborted|ended) by (?:the )?user\b"),
    )
)
_NO_EVENT: Final = re.compile(
    r"\b(?:if|when|would|unless|set to|default|enabled|disabled)\b|=[^=]*=[^=]*=", re.IGNORECASE
)
"""What may come, settings, and records of a scheduler."""


def told_in_words(case: Case) -> None:
    """Nothing shows a fault or a plan, and a last line says that the program was asked to end or had no time left."""
    if case.roots():
        return
    told = sorted(_told(case), key=lambda one: -one.weight)
    case.findings += told[:1]


def _told(case: Case) -> Iterator[Finding]:
    for index, log in enumerate(case.scanned):
        if log.log.kind == "kernel":
            continue
        for at, line in enumerate(log.end):
            cause, weight = _meaning(line)
            if cause and not _NO_EVENT.search(line):
                writer = writer_of(line)
                number = log.end_at[at]
                yield Finding(
                    signature="asked_in_words",
                    role="root",
                    cause=cause,
                    weight=weight,
                    scope="job",
                    source=f"{log.log.name}:{number}",
                    text=line,
                    order=(index, number),
                    rank=writer.rank if writer.rank is not None else log.log.rank,
                    node=writer.node or log.log.node,
                )


def _meaning(line: str) -> tuple[str, float]:
    return next(((cause, weight) for cause, weight, words in _MEANINGS if words.search(line)), ("", 0.0))
