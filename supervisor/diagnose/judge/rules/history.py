"""What earlier attempts and checks tell: the same elsewhere is the program's or the data's, a good check rules out."""

import re
from typing import Final

from supervisor.diagnose.judge.case import Case
from supervisor.model.ids import NodeName

_ATTEMPT: Final = re.compile(r"\b(?:attempt|restart|retry|try|run)s? ?#?(\d{1,3})", re.IGNORECASE)
_REPEATED: Final = 2
_WELL: Final = re.compile(r"ok|clean|pass|converge|no nan", re.IGNORECASE)
_WRONG_NUMBERS: Final = re.compile(r"\bnan\b|\binf\b|diverg|non-finite", re.IGNORECASE)
_READ: Final = frozenset({"corrupt_shard", "corrupt_sample", "malformed_record"})


def same_elsewhere(case: Case) -> None:
    """Numbers that go wrong again on other nodes, or with other data: the code's, not a device's and not a sample's."""
    told = case.marked("history")
    if not told or not case.of("numerics_divergence"):
        return
    text = " ".join(one.text for one in told)
    attempts = set(_ATTEMPT.findall(text))
    if len(attempts) >= _REPEATED and _WRONG_NUMBERS.search(text):
        case.change(
            lambda one: one.role == "root" and one.cause == "numerics_divergence",
            cause="numerics_regression",
            weight=0.78,
        )


def ablation(case: Case) -> None:
    """Replays without some nodes: the one without which all goes well, and with which nothing does, computes wrong."""
    told = case.known("ablation_result")
    good: list[set[NodeName]] = [set(case.named_nodes(one)) for one in told if _WELL.match(one.number or "")]
    bad: list[set[NodeName]] = [set(case.named_nodes(one)) for one in told if not _WELL.match(one.number or "")]
    if not good or not bad:
        return
    odd = good[0].intersection(*good[1:]) - bad[0].union(*bad[1:])
    if len(odd) == 1:
        node = next(iter(odd))
        last = told[-1]
        case.change(lambda one: one is last, role="root", cause="sdc_suspected", weight=0.86, node=node, names="")
        case.change(lambda one: one.role == "root" and one.cause.startswith("numerics_"), role="echo")


def checked_good(case: Case) -> None:
    """A reader that fails on files which a check found good is itself at fault."""
    good = " ".join(one.text for one in case.marked("good"))
    if not good or not re.search(r"shard|\.tar|\.parquet|\.json|file|sample", good, re.IGNORECASE):
        return
    told = [one for one in case.roots() if one.cause in _READ or one.cause == "python_exception"]
    case.change(told, cause="library_version_incompat", weight=0.74)
