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
from supervisor.model.ids import Rank
from supervisor.model.verdict import Class

RAISED: Final = "last_words_raised"
"""An exception's own line, whose traceback is not at hand."""
COMPLAINT: Final = "last_words"
"""Whatever else a program calls an error."""
_RAISED: Final = re.compile(r"(?:^|[\s.\]])[A-Za-z_]\w{0,60}(?:Error|Exception)(?:\(\w{1,60}\))?: \S")
_COMPLAINT: Final = re.compile(
    r"\bwhat\(\): |\b(?:CRITICAL|FATAL)(?: ERROR)?\b[:\] ]|\bE(?:RROR|XCEPTION)\b[:\] ]|\bCaused by: |\bpanicked at |"
    r"\b[Ff]atal error:(?: |$)|\b[Ee]rror ?: |\[ABORT\]|-> Error |^\w{2,30}Error in file |\b[Ee]rror reading \w|"
    r"^Error +(?::|\()|\b(?:FORMAT|PARSE|READ)[ _]ERROR\b|: error \d+ in \w|\bI/O error\b|\b[Rr]ead error\b|"
    r"\b[Ff]atal error[.(]|^--- !ERROR|\bERROR\(|\bABORT(?:ED)?:|_ABORT\b|\bSEVERE\b|^Error in \"|\bFATAL_ERROR\b|"
    r"\berr: |\bError message: |^\s*exception: |\bfatal: |^aborting job:|^Terminating the application|"
    r"^Error in [\w.]|^Exception in thread \"main\"|^panic: |^Died at \S{1,200} line \d|^Plugin error from \w|"
    r"^make(?:\[\d\])?: \*\*\* .{0,200}\bError \d|^Stopping Program from Node\b|\b[Ee]rror detected\b|"
    r"\bprocess didn't exit successfully: |\bFatal Exception\b|^\W{0,8}[Ii]nput errors?\b|^Error message\b|"
    r"\b(?:run|command|calculation|simulation|analysis|assembly|alignment) failed\b(?:[,.:;!]|$)|"
    r"\bERROR in \S{1,200} at line \d|^\W{0,6}STOP(?:-ALL)?\b.{0,20}\w|\b[Aa]bort with message\b|"
    r"\b(?i:(?:unknown|unrecogni[sz]ed) (?:option|argument|key-?word|command|parameter|filter|variable)s?)\b|"
    r"\b[Nn]ot recogni[sz]ed\b|\b[Dd]id not converge\b|\bconvergence problems?\b|"
    r"\b(?:[Ff]ailed to (?:process|parse|read|load|decode)|[Uu]nable to (?:read|find|parse)|[Cc]ould not read) \S"
)
_MILD: Final = re.compile(
    r"\b(?:WARN(?:ING)?|INFO|DEBUG)\b|\bwandb: |\w:\d{1,6}: \w{0,40}Warning: |^W (?:tensorflow|external|torch)/|"
    r"CondaError: Run 'conda init'|skipping|gnoring|gnored|retrying|except |\bCaught \w{1,40} in "
)
_LAUNCHER: Final = re.compile(
    r"\b(?:srun|slurmstepd|slurmd|mpirun|mpiexec|prterun|flux|torchrun|launcher)\b|\[c10d\]|\bTCPStore\.cpp|"
    r"\bProcessGroup\w{3,8}\.cpp"
)
"""A launcher's, the scheduler's or torch's line about tasks that were lost: no word of theirs."""
_FRAME: Final = re.compile(r'\bFile "[^"\n]{1,300}", line \d')
"""Above a line of code: what stands there is what the program would do, and not what it says."""
_WORDS: Final = (
    *("rror", "xception", "ERROR", "EXCEPTION", "FATAL", "CRITICAL", "what()", "Caused by", "panicked"),
    *("ailed to ", "nable to ", "ould not read", "ABORT", "SEVERE", " err: "),
    *("fatal: ", "aborting ", "erminating ", " failed", "panic: ", "Died at", "topping "),
    *("nknown ", "NKNOWN ", "ecogni", "onverge", "STOP", "bort with"),
)
_CHARS: Final = 400
"""What is kept of a last line."""
_HINT: Final = 0.6
"""What packs give to hints is less."""
_BESIDE: Final = 4
"""Lines above and below within which a program goes on with one complaint."""


def last_words(case: Case) -> list[Finding]:
    """Those after which their log reports no more progress, as findings without a cause."""
    known: dict[int, set[str]] = defaultdict(set)
    for one in case.findings:
        if not _is_hint(one):
            known[one.order[0]].add(one.text[:_CHARS])
    return [found for index, _ in _programs(case) for found in _of_log(case, index, known[index])]


def _is_hint(one: Finding) -> bool:
    """It tells no cause by itself, or waits for what it explains: another rule may still read it."""
    return one.role == "context" and (not one.cause or (cause(one.cause).cls is Class.DATA and one.weight <= _HINT))


def around(case: Case, one: Finding) -> list[str]:
    """The lines beside it among its log's last ones: what a program says of one trouble in several lines."""
    if not one.is_line:
        return []
    end = case.scanned[one.order[0]].end
    at = next((at for at, line in enumerate(end) if line == one.text[:_CHARS]), None)
    beside = () if at is None else (*end[max(0, at - _BESIDE) : at], *end[at + 1 : at + 1 + _BESIDE])
    return [line for line in beside if not _LAUNCHER.search(line)]


def last_lines(case: Case) -> Iterator[Finding]:
    """Every last line of programs after which its writer reports no more progress, as a finding without a cause."""
    for index, log in _programs(case):
        for at, (line, went_on) in enumerate(zip(log.end, _went_on(case, index), strict=True)):
            if not (went_on or _LAUNCHER.search(line) or _is_code(log.end, at)):
                yield _found(log, index, at, COMPLAINT)


def _programs(case: Case) -> Iterator[tuple[int, Scanned]]:
    return ((index, one) for index, one in enumerate(case.scanned) if one.log.kind in {"any", "ranks"})


def _of_log(case: Case, index: int, known: set[str]) -> Iterator[Finding]:
    log, went_on = case.scanned[index], _went_on(case, index)
    told = [(at, line) for at, line in enumerate(log.end) if _may_complain(line) and line not in known]
    for at, line in told:
        is_raised = bool(_RAISED.search(line))
        if went_on[at] or _MILD.search(line) or _LAUNCHER.search(line) or _is_code(log.end, at):
            continue
        if not (is_raised or _COMPLAINT.search(line)):
            continue
        yield _found(log, index, at, RAISED if is_raised else COMPLAINT)


def _found(log: Scanned, index: int, at: int, signature: str) -> Finding:
    line = log.end[at]
    writer = writer_of(line)
    number = log.end_at[at]
    return Finding(
        signature=signature,
        role="context",
        source=f"{log.log.name}:{number}",
        text=line,
        order=(index, number),
        rank=writer.rank if writer.rank is not None else log.log.rank,
        node=writer.node or log.log.node,
    )


def _is_code(end: Sequence[str], at: int) -> bool:
    return _FRAME.search(end[at]) is not None or (at > 0 and _FRAME.search(end[at - 1]) is not None)


def _may_complain(line: str) -> bool:
    """Without these no line does: most are told by them."""
    return any(word in line for word in _WORDS)


def _went_on(case: Case, index: int) -> tuple[bool, ...]:
    """Of each last line of this log: its writer, or one that no label tells, reports progress afterwards."""
    if index not in case.went_on:
        case.went_on[index] = _gone_on(case.scanned[index].end)
    return case.went_on[index]


def _gone_on(end: Sequence[str]) -> tuple[bool, ...]:
    """Backwards, so that each line is looked at once however many there are."""
    moved: set[Rank | None] = set()
    found: list[bool] = []
    for line in reversed(end):
        writer, text = split_label(line)
        found.append(None in moved or writer in moved)
        if progress_of(0, text):
            moved.add(writer)
    return tuple(reversed(found))
