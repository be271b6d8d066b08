"""Which finding is the root: an early fault beats later ones, a plan beats noise, a fault before the plan beats it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from supervisor.diagnose.findings import Finding, failures
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_CLOSE: Final = 0.12
"""Causes whose weights differ by less are equally good: then the earliest counts."""
_EARLIER: Final = 0.2
_EARLIER_S: Final = 5.0
"""A cause that is so much earlier may be so much less sure."""
_DONE: Final = 0.94
"""A completed run of which this much is sure has no fault: Slurm says so, or the program and nothing failed before."""
_FIRM: Final = 0.55
"""From this weight on a fault is more than a guess."""
_SURE: Final = 0.7
_BEFORE_S: Final = 2.0
_TAKES_NODES: Final = frozenset({"preemption", "maintenance"})
_GONE: Final = frozenset({"node_unreachable", "node_power_loss"})
_COUNTED: Final = frozenset({"slurm_oom_event", "slurm_memory_limit"})
"""Slurm tells of these when the step is over, whenever they happened."""
_FAMILIES: Final = {
    "gpu_hbm_uncorrectable": "gpu_ecc_uncorrectable",
    "gpu_sram_uncorrectable": "gpu_ecc_uncorrectable",
}
"""Finer names of one cause."""


def choose(case: Case) -> Finding | None:
    """The root among all findings; None where none shows a cause."""
    planned = [one for one in case.roots() if cause(one.cause).cls is Class.PLANNED]
    fault = _fault(case)
    if planned and not _fault_came_first(case, planned, fault):
        return max(planned, key=lambda one: (one.weight, -one.order[0]))
    if fault is not None:
        return fault
    echoes = [one for one in case.findings if one.role == "echo" and one.cause]
    return max(echoes, key=lambda one: one.weight) if echoes else None


def _by_time(one: Finding) -> tuple[int, float, tuple[int, int]]:
    """The earlier second first; within one, whose time may be that of the line before, the surer finding."""
    return int(one.began or 0.0), -one.weight, one.order


def strength(findings: Iterable[Finding]) -> dict[str, float]:
    """How sure each cause is by all findings: independent sources (ranks, kernel, counters, Slurm) add up."""
    best: dict[str, dict[str, float]] = defaultdict(dict)
    for one in findings:
        if one.role == "root" and one.cause:
            kinds = best[family(one.cause)]
            kind = one.source.partition("/")[0].partition(":")[0]
            kinds[kind] = max(kinds.get(kind, 0.0), one.weight)
    return {name: 1 - _product(1 - weight for weight in kinds.values()) for name, kinds in best.items()}


def family(name: str) -> str:
    """One name for finer names of one cause."""
    return _FAMILIES.get(name, name)


def _fault(case: Case) -> Finding | None:
    faults = case.faults()
    if not faults:
        return None
    sure = strength(faults)
    best = max(sure.values())
    close = [one for one in faults if sure[family(one.cause)] >= best - _CLOSE and one.weight >= best - 2 * _CLOSE]
    timed = [one for one in close if one.began is not None]
    untimed = [one for one in close if one.began is None]
    first = min(timed, key=_by_time) if timed else None
    if first is not None:
        first = _much_earlier(faults, sure, best, first) or first
    other = max(untimed, key=lambda one: (one.weight, -one.order[0], -one.order[1])) if untimed else None
    if first is None or other is None:
        return first or other or max(faults, key=lambda one: one.weight)
    return other if other.weight > first.weight else first


def _much_earlier(faults: Sequence[Finding], sure: dict[str, float], best: float, first: Finding) -> Finding | None:
    """A fault of a rank's own long before the surest one: later ones follow from it."""
    early = [
        one
        for one in faults
        if one.scope == "own"
        and one.began is not None
        and one.began < (first.began or 0.0) - _EARLIER_S
        and sure[family(one.cause)] >= max(best - _EARLIER, _FIRM)
    ]
    return min(early, key=lambda one: one.began or 0.0) if early else None


def _fault_came_first(case: Case, planned: list[Finding], fault: Finding | None) -> bool:
    """A fault was there before the planned end began. A completed job has none, nor one known to be cancelled."""
    if any((one.cause == "completed" and one.weight >= _DONE) or one.signature == "cancelled" for one in planned):
        return False
    if fault is None:
        return _waited_before(case, planned)
    firm = [one for one in case.faults() if one.weight >= _FIRM and not one.went_on]
    if any(one.cause in _TAKES_NODES for one in planned):
        # That the nodes vanish is how such a plan is carried out.
        firm = [one for one in firm if one.cause not in _GONE]
    lines = [one for one in planned if one.is_line]
    if not firm:
        return False
    if not lines:
        # Only a state tells of the plan: what somebody did after the fault, or a wrapper that lingered to the limit.
        return any(one.weight >= _SURE for one in firm) or (
            all(one.cause == "user_cancel" for one in planned) and any(True for _ in failures(case.findings))
        )
    if all(one.cause == "user_cancel" for one in lines) and any(one.signature in _COUNTED for one in firm):
        return True
    return any(_is_before(one, plan) for one in firm for plan in lines) or (
        all(plan.time is None for plan in lines)
        and any(_is_before(failure, plan) for failure in failures(case.findings) for plan in lines)
    )


def _waited_before(case: Case, planned: list[Finding]) -> bool:
    """Somebody cancelled a job whose collectives had timed out."""
    waited = [one for one in case.findings if one.role == "echo" and one.cause and one.has("timeout")]
    return all(one.cause == "user_cancel" for one in planned) and any(
        _is_before(one, plan) for one in waited for plan in planned
    )


def _is_before(one: Finding, other: Finding) -> bool:
    """By their times where both have one, else by their lines in the same log; unknown is not before."""
    if one.began is not None and other.time is not None:
        return one.began < other.time - _BEFORE_S or (
            one.order[0] == other.order[0] and one.began <= other.time and one.order < other.order
        )
    return one.order[0] == other.order[0] and one.order < other.order


def _product(factors: Iterable[float]) -> float:
    result = 1.0
    for factor in factors:
        result *= factor
    return result
