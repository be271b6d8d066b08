"""The same sample again: what attempts noted of each other shows that a failure follows the data."""

import re
from typing import Final

from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import around
from supervisor.diagnose.judge.rules.records import PLAIN
from supervisor.diagnose.judge.rules.words import file_names, kind_of

_THING: Final = (
    r"(?:samples?|images?|records?|documents?|docs?|buckets?|shards?|parts?|files?|clips?|tiles?|pages?|chunks?|"
    r"scenes?|episodes?|graphs?|molecules?|utterances?|utt|films?|rows?|lines?|keys?|pairs?|volumes?|granules?|"
    r"months?|batch of|annotations?|captions?)"
)
_NUMBERED: Final = re.compile(
    rf"\b{_THING}(?:[ _]?(?:ids?|index|idx|no\.?|number))?[ =:#(\[]{{1,3}}(?:tensor\(\[)?"
    r"(?P<numbers>\d[\d, ]{0,200})",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d{3,16}")
_NOTED: Final = re.compile(
    r"\b(?:attempts?|runs?|tr(?:y|ies)|restart\w{0,2}|re-?run|replay\w{0,2}|before|previous(?:ly)?|earlier|again|"
    r"first time|each time|every time|second time)\b",
    re.IGNORECASE,
)
_SAME: Final = re.compile(
    rf"\b(?:at|on|in|with|for|of|by|reads?|names?|again) (?:exactly )?(?:the|this|that) (?:very )?same {_THING}\b|"
    rf"\b(?:the )?same {_THING} (?:again|as before|each time|every time|twice|in both)\b",
    re.IGNORECASE,
)
_WELL: Final = (
    r"[^\n]{0,80}\b(?:ok|clean|calm|fine|passes|passed|well|finite|no nan|no spike|smooth|normal|completes?)\b"
)
_LEFT_OUT: Final = re.compile(
    r"(?:\bskip\w{0,4}|\bleav\w{1,3} out|\bwithout|\bexclud\w{1,3}|\bdrop\w{0,4}|\bremov\w{1,3})[ =_-]{1,3}"
    rf"[^\n]{{0,40}}(?:{_THING}|\.\w{{2,8}}\b){_WELL}|"
    rf"(?:\.\w{{2,8}}|{_THING} \S{{1,40}}) (?:left out|skipped|excluded|removed|dropped)\b{_WELL}",
    re.IGNORECASE,
)
_OF_IDS: Final = frozenset({"vocab_mismatch", "device_side_assert"})
_OF_ID: Final = "label_or_token_out_of_range"
_DIVERGED: Final = frozenset({"numerics_divergence", "numerics_regression"})
_NOT_A_NUMBER: Final = re.compile(r"\bnans?\b|non-?finite|not finite|missing values?|fill values?", re.IGNORECASE)
_SURE: Final = 0.86


def same_sample(case: Case) -> None:
    """A plain failure whose sample or file an earlier attempt had named, too: it follows what was read."""
    told = [one for one in case.roots() if one.cause in PLAIN | _OF_IDS and one.is_line and not one.went_on]
    notes = [line for log in case.scanned for line in log.end if _NOTED.search(line)]
    if not notes:
        return
    before = set().union(*map(_names, notes))
    is_said = any(_SAME.search(line) for line in notes)
    again = {
        one: _OF_ID if one.cause in _OF_IDS else kind_of(one.text, " ".join(around(case, one)))
        for one in told
        if (beside := [line for line in case.scanned[one.order[0]].end if line not in notes])
        and ((is_said and case.made_progress) or before & set().union(*map(_names, beside)))
    }
    for kind in sorted(set(again.values())):
        case.change([one for one, each in again.items() if each == kind], cause=kind, weight=_SURE)


def well_without_it(case: Case) -> None:
    """Numbers that went wrong, and did not where some of the data were left out: the data's, not the code's."""
    lines = [line for log in case.scanned for line in log.end]
    told = case.of(*_DIVERGED)
    if not told or not any(_LEFT_OUT.search(line) for line in lines):
        return
    is_in_files = any(_NOT_A_NUMBER.search(line) and file_names(line) for line in lines)
    case.change(told, cause="nan_in_input" if is_in_files else "bad_batch_loss_spike", weight=_SURE)
    tried = [one for one in case.of("user_stop") if _LEFT_OUT.search(one.text)]
    case.change(tried, role="context")  # whoever tried it out stopped it, too


def _names(line: str) -> set[str]:
    """Files of data, and numbers of samples, that the line names."""
    numbers = (number for match in _NUMBERED.finditer(line) for number in _NUMBER.findall(match["numbers"]))
    return {*file_names(line), *numbers}
