"""What a log's last lines say in plain words, where nothing else shows how it ended."""

import re
from typing import Final

from supervisor.diagnose.evidence.beats import GONE
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.rules.plans import ended_badly
from supervisor.diagnose.scan.one_log import Scanned

_WORK: Final = (
    r"(?:job|script|run|program|analysis|simulation|calculation|computation|pipeline|workflow|processing|"
    r"execution|task|benchmark|installation|build|experiment)s?"
)
_CODE: Final = r"\b(?:exit(?:ed)?(?: with)?|return)[ _-]?(?:code|status)\W{1,3}"
_WELL: Final = re.compile(
    rf"\b{_WORK}\b.{{0,60}}\b(?:complet|finish|end|terminat|done|succe)\w{{0,9}}\b.{{0,20}}"
    r"\b(?:successful(?:ly)?|normally|without (?:any )?errors?)\b|"
    r"\bsuccessfully (?:completed|finished)\b|\b(?:completed|finished|ended) successfully\b|"
    r"\bsuccess(?:ful(?:ly)?)?\b.{0,20}\bcomplet|"
    rf"{_CODE}0\W{{0,3}}$",
    re.IGNORECASE,
)
_DONE: Final = re.compile(
    r"^End$|^\W{0,12}(?:all )?(?:done|finished|completed)\W{0,8}$|"
    rf"\b{_WORK}\b.{{0,30}}\b(?:is |has |was )?(?:finished|completed?|done)\b(?! ?[\d(]{{1,4}} ?(?:/|of|%))",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(
    r"\b(?:0|no|without(?: any)?) (?:errors?|failures?|failed)\b|\b(?:errors?|failures?|failed)\W{1,4}0\b|"
    r"standard error|std_?err\w*|error_?file|\.err\b",
    re.IGNORECASE,
)
_TROUBLE: Final = re.compile(
    r"error|\bfail|fatal|abort|exception|traceback|killed|denied|cannot|can't|could not|unable|not found|no such|"
    rf"segmentation|cancel|exceeded|core dumped|interrupt|{_CODE}[1-9]",
    re.IGNORECASE,
)
_SURE: Final = 0.7
_LIKELY: Final = 0.5


def said_so(case: Case) -> None:
    """Its last words are that the work is done, none of them tells of trouble, and nothing else does: completed."""
    if any(one.cause for one in case.findings if one.role != "context") or ended_badly(case) or case.known(GONE):
        return
    logs = [(index, one) for index, one in enumerate(case.scanned) if one.log.kind != "kernel"]
    if any(_TROUBLE.search(_HARMLESS.sub("", line)) for _, one in logs for line in one.end):
        return
    case.findings.extend(
        _told(index, one) for index, one in logs if any(_DONE.search(line) or _WELL.search(line) for line in one.end)
    )


def _told(index: int, log: Scanned) -> Finding:
    well = [line for line in log.end if _WELL.search(line)]
    done = [line for line in log.end if _DONE.search(line)]
    return Finding(
        signature="said_so",
        role="root",
        cause="completed",
        weight=_SURE if well else _LIKELY,
        scope="job",
        source=f"{log.log.name}:{log.lines}",
        text=(well or done)[-1],
        order=(index, log.lines),
    )
