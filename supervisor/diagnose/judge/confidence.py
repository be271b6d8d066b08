"""How sure a verdict is: by all that agrees with it, less what speaks for something else."""

from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.choose import family, strength
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_MOST: Final = 0.98
_AT_MOST: Final = {
    "python_exception": 0.62,
    "numerics_divergence": 0.68,
    "cuda_api_error": 0.7,
    "segfault": 0.7,
    "gpu_unknown_failure": 0.7,
    "assertion_failed": 0.74,
    "cuda_illegal_access": 0.76,
    "type_error": 0.78,
    "file_not_found": 0.78,
}
"""What fails in so many ways that even all sources together do not say why: something finer may hide behind it."""
_LEAST: Final = 0.05
_RIVAL: Final = 0.5
"""What a rival of another class takes at most, in proportion to its own strength."""
_SIBLING: Final = 0.15
"""The same for a rival of the same class."""
_LATE: Final = 0.5
"""A rival that is known to be later counts half."""


def confidence(case: Case, root: Finding) -> float:
    """0 to 1."""
    agreed = strength([one for one in case.findings if family(one.cause) == family(root.cause)])
    sure = agreed.get(family(root.cause), root.weight) if root.role == "root" else root.weight
    most = _AT_MOST.get(root.cause, _MOST)
    return round(min(most, max(_LEAST, sure - _against(case, root))), 2)


def _against(case: Case, root: Finding) -> float:
    cls = cause(root.cause).cls
    most = 0.0
    for one in case.faults():
        if family(one.cause) == family(root.cause):
            continue
        share = _SIBLING if cause(one.cause).cls is cls else _RIVAL
        is_later = one.began is not None and root.began is not None and one.began > root.began
        share *= _LATE if is_later or cls is Class.PLANNED else 1.0
        most = max(most, share * one.weight)
    return most
