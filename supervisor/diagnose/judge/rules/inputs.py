"""What applications say of a file that they cannot use, in words of their own: which file, and what is wrong in it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import around, last_lines, last_words
from supervisor.diagnose.judge.rules.readers import is_of_settings
from supervisor.diagnose.judge.rules.words import is_damage, kind_of, names_a_place
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_NO_DATA: Final = (
    r"(?!(?:py|pyx|pxi|c|cc|cpp|cu|h|hh|hpp|f|for|f90|F90|F|rs|go|java|jl|m|sh|so|exe|x|log|out|err|ya?ml|toml|ini|cfg|"
    r"conf|nml|in|inp|mdp|par|com|org|edu|net|de|io)\b)"
)
_FILE: Final = re.compile(
    rf"(?<![\w./-])[<'\"(]?[\w./-]{{0,200}}[A-Za-z\d_-]\.{_NO_DATA}[A-Za-z][\w-]{{0,9}}(?:\.(?:gz|bz2|xz|zst))?\b|"
    r"\b[\w-]{1,60}\.\w{1,10}\.(?:gz|bz2|xz|zst)\b|\bfile \S{0,120}\d\S{0,40}|\bwrf\w{2,12}_d\d\d"
)
"""Something that looks like the name of a file, and is none of code, of settings or of a host."""
_PARTS: Final = r"(?:columns|fields|values|elements|tokens|records|entries|rows|points|reads)"
_PROPERTIES: Final = (
    r"(?:length|size|byte ?order|checksum|dimensions?|header|format|signature|magic|record|message|token|character|"
    r"number|real|integer|value)"
)
_FAULT: Final = re.compile(
    "|".join(
        (
            rf"\b(?:incorrect|wrong|bad|invalid|unexpected) (?:\w{{1,12}} (?:or |and )?){{0,2}}{_PROPERTIES}\b",
            r"\b(?:different|unequal) (?:numbers?|lengths?|sizes?)\b",
            rf"\btoo (?:few|many) {_PARTS}\b",
            rf"\b{_PARTS} (?:does not|do not|did not|doesn't|differ)\b",
            r"\bexpected:? \d[\d,]{0,14}\b[^\n]{0,30}\b(?:got|found|but|read|contains|has|have|says)\b",
            r"\bexpected \w{2,12} \d",
            r"\b(?:got|found|contains|has|read) \d[\d,]{0,14}\b[^\n]{0,40}\b(?:expected|instead|should be|but)\b",
            r"\b\d[\d,]{0,14}(?: \w{3,20})? (?:needed|required|expected)\b",
            r"\bnot an? [\w.-]{2,20} file\b|\bis not a number\b|\bmissing values?\b|\bhas (?:0|no) \w{3,20}\b",
            r"\bmust be terminated\b|\binvalid document\b|\bmal-?formed\b|\binconsistent\b|\bdiffer at\b",
            r"\bnot (?:strictly |monotonically )?(?:increasing|monoton\w{1,10})",
            r"\bunexpected (?:end|eof|token)|\bpremature(?:ly)?\b|\bend[ -]of[ -](?:file|data|stream|table|input)\b",
            r"\boutside (?:of )?the (?:available |valid )?(?:range|period|time)|\bout of (?:range|bounds)\b",
            r"\blacks? (?:the |its |a )?(?:field|variable|record|time|column)\b|\bcannot find field\b",
            r"\bmismatch\w{0,2} (?:detected|at|in|between)\b|\b(?:more|fewer|less) [\w ]{2,40} than\b",
            r"\berror (?:in|at|on) (?:line|row|record) \d|\bnot recogni[sz]\w{1,4}\b",
            r"\b(?:problem parsing|parse error|failed to parse)\b",
            r"\bcould not (?:extract|find field|find variable|parse|decode)\b",
            r"\b(?:holds|contains|has|have) (?:\d{1,9} )?(?:NaNs?|non-finite|infinite|negative)\b",
        )
    ),
    re.IGNORECASE,
)
"""What may be wrong in a file."""
_LINE: Final = re.compile(
    r"\b(?:line|row|record|message|subset|column|line/column|offset|position|trace|frame|cell|tile)s?[ =:#/]{1,3}\d|"
    r"\b(?:field|variable|column|block) \w",
    re.IGNORECASE,
)
_UNREAD: Final = re.compile(
    r"\b(?:error|fail\w{0,4}|cannot|could not|can't|unable|problem)\b[^\n]{0,40}"
    r"\b(?:read|pars|decod|decompress|load|process|extract)\w{0,4}\b",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(
    r"\b(?:WARN(?:ING)?|INFO|DEBUG|NOTE)\b|[Ww]arning|skipp|gnor|retry|continu|^\s{0,40}(?:at |in |#\d|File \")|"
    r"No such file|not found|ermission denied|annot open|nable to open|checkpoint|ckpt|https?://",
    re.IGNORECASE,
)
_OF_PROGRAM: Final = re.compile(
    r"\b(?:keywords?|options?|commands?|arguments?|parameters?|environment variable|runtime error: |goroutine|panic|"
    r"module|librar(?:y|ies)|symbol|version|license|device)\b",
    re.IGNORECASE,
)
"""Words of input decks, command lines and code: what the user or the program wrote itself."""
_ABOUT: Final = re.compile(
    r"\b(?:writ\w{1,4}|written|output|creat\w{1,3}|exists?|sav(?:e|ing)|memory|space|quota|lock\w{0,3}|undefined|"
    r"not defined|not indexed|unknown|timeout|timed out|connect\w{0,4}|assert\w{0,5}|index|rank|node|exited|signal)\b|"
    r"\.(?:py|cpp|c|f90|F90|F|cu):\d",
    re.IGNORECASE,
)
"""What else than its content may be wrong with a file."""
_MOST_LINES: Final = 2000
"""Looked at: of a job with thousands of ranks the first ones say it, too."""
_GUESS: Final = 0.62
_HINT: Final = 0.5


def tells_of_input(text: str) -> bool:
    """It names a file that is none of settings, and says what is wrong in it, or in which line it cannot be read."""
    return bool(_FILE.search(text) or names_a_place(text)) and tells_of_fault(text)


def tells_of_fault(text: str) -> bool:
    """It says what is wrong in something that was read, whatever that is called, and that is no setting."""
    if is_of_settings(text) or _OF_PROGRAM.search(text):
        return False
    return bool(_FAULT.search(text) or is_damage(text) or (_UNREAD.search(text) and _LINE.search(text)))


def tells_of_record(text: str) -> bool:
    """It says in which record, line or message of what it read something is wrong."""
    return bool(_LINE.search(text)) and tells_of_fault(text)


def file_at_fault(case: Case) -> None:
    """Nothing else shows a cause, and among the last lines one says what is wrong in which file."""
    if any(one.cause and cause(one.cause).cls is not Class.PLANNED for one in case.findings if one.role != "context"):
        return
    if found := next(_complaints(case), None) or next(_named(case), None):
        case.findings.append(found)


def _named(case: Case) -> Iterator[Finding]:
    """A complaint that names a file of data, and is not about what is written or not there."""
    for one in last_words(case):
        if names_a_place(one.text) and not any(each.search(one.text) for each in (_HARMLESS, _ABOUT, _OF_PROGRAM)):
            yield replace(one, role="root", cause=kind_of(one.text), weight=_HINT)


def _in_full(one: Finding, case: Case) -> str:
    return " ".join((one.text, *around(case, one)))


def _complaints(case: Case) -> Iterator[Finding]:
    for line in islice(last_lines(case), _MOST_LINES):
        if _HARMLESS.search(line.text) or not _is_fault(line.text):
            continue
        text = line.text if tells_of_input(line.text) else _in_full(line, case)
        if tells_of_input(text):
            yield replace(line, role="root", cause=kind_of(line.text, text), weight=_GUESS)


def _is_fault(text: str) -> bool:
    return bool(_FAULT.search(text) or _UNREAD.search(text) or is_damage(text))
