"""Signs of life: whom a hang's own lines do not name, and a time limit for ranks that had long stood still."""

from typing import Final

from supervisor.diagnose.evidence.beats import NAMING, STILL
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case

_HANGS: Final = frozenset({"deadlock", "nccl_timeout_unattributed", "rank0_long_work_timeout"})
_LESS: Final = 0.1
"""What agrees with a line is less sure than the line itself, and never displaces it."""


def waited_for(case: Case) -> None:
    """A hang whose line names no rank: who stopped first agrees with it, and so is blamed."""
    hangs = [one for one in case.findings if one.cause in _HANGS and one.role != "context"]
    named = _naming(case)
    if not hangs or not named or any(one.cause not in _HANGS for one in case.faults()):
        return
    best = max(hangs, key=lambda one: (one.role == "root", one.weight))
    if best.rank is None:
        case.change(named, role=best.role, cause=best.cause, weight=max(best.weight - _LESS, 0.1))


def still_until_the_limit(case: Case) -> None:
    """Ranks that live and had not moved for an hour when the time limit came had hung."""
    limits = case.of("walltime")
    if limits and case.known(STILL) and not case.faults():
        case.change(limits, cause="deadlock", weight=0.6)


def _naming(case: Case) -> list[Finding]:
    """Of the surest kind that there is."""
    return next((found for kind in NAMING if (found := case.known(kind))), [])
