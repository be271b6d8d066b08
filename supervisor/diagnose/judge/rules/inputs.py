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
    r"(?!(?:py|pyx|pxi|c|C|cc|cpp|cxx|cu|h|H|hh|hpp|f|for|f90|F90|F|rs|go|java|jl|m|sh|so|exe|x|log|out|err|ya?ml|toml|ini|cfg|"
    r"conf|nml|in|inp|mdp|par|com|org|edu|net|de|io)\b)"
)
_FILE: Final = re.compile(
    rf"(?<![\w./-])[<'\"(]?[\w./-]{{0,200}}[A-Za-z\d_-]\.{_NO_DATA}[A-Za-z][\w-]{{0,9}}(?:\.(?:gz|bz2|xz|zst))?\b|"
    r"\b[\w-]{1,60}\.\w{1,10}\.(?:gz|bz2|xz|zst)\b|\b(?:file|FILE)[: ](?:for |of )?\S{0,120}\d\S{0,40}|"
    r"\bwrf\w{2,12}_d\d\d|\b[Rr]eading (?:from )?file:? \S{2,200}"
)
"""Something that looks like the name of a file, and is none of code, of settings or of a host."""
_PARTS: Final = r"(?:columns|fields|values|elements|tokens|records|entries|rows|points|reads)"
_PROPERTIES: Final = (
    r"(?:length|size|byte ?order|checksum|dimensions?|header|format|signature|magic|records?|messages?|token|"
    r"characters?|symbols?|nucleotides?|number|real|integer|value|count)"
)
_FAULT: Final = re.compile(
    "|".join(
        (
            rf"\b(?:incorrect|wrong|bad|invalid|unexpected|illegal) (?:\w{{1,12}} (?:or |and )?){{0,2}}{_PROPERTIES}\b",
            r"\b(?:different|unequal) (?:numbers?|lengths?|sizes?)\b",
            rf"\btoo (?:few|many) {_PARTS}\b",
            rf"\b{_PARTS} (?:does not|do not|did not|doesn't|differ)\b",
            r"\bexpect(?:ed|s):? \d[\d,]{0,14}\b[^\n]{0,30}\b(?:got|found|but|read|contains|has|have|says)\b",
            r"\bexpected \w{2,12} \d",
            r"\b(?:got|found|contains|has|read) \d[\d,]{0,14}\b[^\n]{0,40}\b(?:expected|instead|should be|but)\b",
            r"\b\d[\d,]{0,14}(?: \w{3,20})? (?:needed|required|expected|wanted)\b",
            r"\bnot an? [\w.-]{2,20} file\b|\bis not a number\b|\bmissing values?\b|\bhas (?:0|no) \w{3,20}\b",
            r"\b(?:bad|invalid) data\b|\bunreadable\b",
            r"\bmust be terminated\b|\binvalid document\b|\bmal-?formed\b|\binconsistent\b|\bdiffers? (?:at|from)\b",
            r"\bnot (?:strictly |monotonically )?(?:increasing|monoton\w{1,10})",
            r"\bunexpected (?:end|eof|token)|\bpremature(?:ly)?\b|\bend[ -]of[ -](?:file|data|stream|table|input)\b",
            r"\boutside (?:of )?the (?:available |valid )?(?:range|period|time)",
            r"\bout of (?:its |the )?(?:\w{1,10} )?(?:range|bounds)\b",
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
_UNABLE: Final = r"\b(?:error|fail\w{0,4}|cannot|could not|couldn't|can't|unable|problem|trouble)\b"
_SAYS: Final = r"(?:says?|declares?|lists?|claims?|promises|announces?|expects?|states?)"
_OF_VALUES: Final = re.compile(
    "|".join(
        (
            r"\bnegative\b|\bnans?\b|\b(?:non-?|not )finite\b|\b(?:not|un)-? ?physical\b|\bimplausibl[ey]\b",
            r"\bnot (?:unique|monotonic\w{0,4}|sorted|normali[sz]ed|positive|decodable)\b|\bduplicates?\b",
            r"\b(?:values?|points?|cells?|times?|ends?|extends?|positions?)\b[^\n]{0,40}\b(?:outside|out of|beyond)\b",
            r"\b(?:larger|greater|higher|lower|smaller|fewer|less|more) than\b[^\n]{0,40}\d| [<>]=? ?-?\d",
            rf"\b{_SAYS} \d[\d,]{{0,14}}\b[^\n]{{0,80}}\b\d|\b\d[\d,]{{0,14}}\b[^\n]{{0,60}}\b{_SAYS} \d",
            r"\b\d[\d,]{0,14}\b[^\n]{0,40}\b(?:but|whereas)\b[^\n]{0,40}\b\d",
            r"\b(?:shorter|longer) than\b|\btoo short\b|\bends? before\b|\bdiffer in\b",
            r"\blacks? \d|\bbroken at \d|\bjumps\b|\bbackwards?\b",
            r"\b(?:lengths?|sizes?|counts?|numbers?|dimensions?)\b[^\n]{0,60}\bdiffer",
            r"\b(?:size|length)s?\b[^\n]{0,60}\b(?:does|do|did) not (?:match|agree|fit)\b",
            r"\b(?:has|have|with|contains?) (?:an? )?(?:bad|broken|illegal|invalid|damaged|wrong) \w",
            r"\b9\.96\d{0,8}e\+?3[56]\b|-9999\b|\b1(?:\.0{1,8})?e\+?(?:20|36)\b|-32768\b",
            rf"{_UNABLE}[^\n]{{0,20}}\b(?:read|reading|decod\w{{1,4}})\b(?! (?:the )?(?:input|config|control|script))",
            r"\(\d{2,15}\)[^\n]{0,40}\b(?:not|differs?|unlike)\b[^\n]{0,60}\(\d{2,15}\)",
            r"\b(?:header|size|length|count|shape|dimension|number|grid)s? mismatch\b|\b(?:extent|size|length) 0\b",
            r"\brefers? to\b[^\n]{0,60}\b(?:not|missing|unknown)\b",
            r"\b(?:is|are|was|were) (?:cut off|garbled|broken|short)\b",
        )
    ),
    re.IGNORECASE,
)
"""What may be wrong with the values in a file, where the same line names it."""
_NO_INPUT: Final = re.compile(
    r"\b(?:writ\w{1,4}|written|output|creat\w{1,3}|sav(?:e|ing)|recompile|rebuild|increase|reduce|please (?:use|set)|"
    r"ranks|processors|processes|tasks|cores|threads|partitions|licen[cs]e|compiled|configur\w{1,5}|settings?|memory|"
    r"quota|took|see|residuals?|converg\w{1,5}|diverg\w{1,5}|courant|cfl|time ?steps?|iterations?|unstable|"
    r"singular|matrix|tolerance|allocat\w{1,3}|user)\b",
    re.IGNORECASE,
)
"""Words of what is written, of what the user has to set otherwise, and of a calculation that went wrong."""
_LINE: Final = re.compile(
    r"\b(?:line|row|record|message|subset|column|line/column|offset|position|trace|frame|cell|tile)s?[ =:#/]{1,3}\d|"
    r"\b(?:field|variable|column|block) \w",
    re.IGNORECASE,
)
_UNREAD: Final = re.compile(
    rf"{_UNABLE}[^\n]{{0,40}}\b(?:read|pars|decod|decompress|load|process|extract)\w{{0,4}}\b",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(
    r"^(?:Corrupt JPEG data: |Premature end of JPEG|\[\w{2,12} @ 0x)|^W (?:tensorflow|external|torch)/|"
    r"\b(?:WARN(?:ING)?|INFO|DEBUG|NOTE)\b|[Ww]arning|skipp|gnor|retry|continu|^\s{0,40}(?:at |in |#\d|File \")|"
    r"No such file|not found|(?:ould not|annot|nable to) (?:find|locate)\b|oes(?:n't| not) exist|"
    r"ermission denied|annot open|nable to open|checkpoint|ckpt|https?://",
    re.IGNORECASE,
)
_OF_PROGRAM: Final = re.compile(
    r"\b(?:keywords?|options?|commands?|arguments?|parameters?|environment variable|runtime error: |goroutine|panic|"
    r"module|librar(?:y|ies)|(?:undefined|unresolved) symbol|symbol lookup|version|license|device)\b",
    re.IGNORECASE,
)
"""Words of input decks, command lines and code: what the user or the program wrote itself."""
_ABOUT: Final = re.compile(
    r"\b(?:writ\w{1,4}|written|output|creat\w{1,3}|exists?|sav(?:e|ing)|memory|space|quota|lock\w{0,3}|undefined|"
    r"not defined|not indexed|unknown|timeout|timed out|connect\w{0,4}|assert\w{0,5}|index|rank|node|exited|signal)\b|"
    r"\.(?:py|cpp|c|f90|F90|F|cu):\d|\.\w{1,8}['\"]? (?:is |was )?missing\b",
    re.IGNORECASE,
)
"""What else than its content may be wrong with a file."""
_NOT_NAMED: Final = (_HARMLESS, _ABOUT, _OF_PROGRAM, _NO_INPUT)
_MOST_LINES: Final = 2000
"""Looked at: of a job with thousands of ranks the first ones say it, too."""
_GUESS: Final = 0.62
_HINT: Final = 0.5


def tells_of_input(text: str) -> bool:
    """It names a file that is none of settings, and says what is wrong in it, or in which line it cannot be read."""
    return bool(_FILE.search(text) or names_a_place(text)) and tells_of_fault(text)


def is_about_the_run(text: str) -> bool:
    """It tells of what is written, of settings, or of the calculation: no word of what was read."""
    return bool(_NO_INPUT.search(text))


def names_what_was_read(text: str) -> bool:
    """It names a file of data, and is not about what is written, not there, or set by the user."""
    return names_a_place(text) and not is_of_settings(text) and not any(each.search(text) for each in _NOT_NAMED)


def is_about_values(line: str) -> bool:
    """One line names a file that is none of settings, and says what is wrong with the values in it."""
    if not (_FILE.search(line) or names_a_place(line)) or not _OF_VALUES.search(line):
        return False
    return not (_HARMLESS.search(line) or is_about_the_run(line) or is_of_settings(line) or _OF_PROGRAM.search(line))


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
        if names_what_was_read(one.text):
            yield replace(one, role="root", cause=kind_of(one.text), weight=_HINT)


def _in_full(one: Finding, case: Case) -> str:
    return " ".join((one.text, *around(case, one)))


def _complaints(case: Case) -> Iterator[Finding]:
    for line in islice(last_lines(case), _MOST_LINES):
        if _HARMLESS.search(line.text) or is_about_the_run(line.text) or not _is_fault(line.text):
            continue
        text = line.text if tells_of_input(line.text) else _in_full(line, case)
        if tells_of_input(text):
            yield replace(line, role="root", cause=kind_of(line.text, text), weight=_GUESS)


def _is_fault(text: str) -> bool:
    return bool(_FAULT.search(text) or _UNREAD.search(text) or is_damage(text))
