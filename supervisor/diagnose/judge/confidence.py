"""How sure a verdict is: the odds that its class is right, by what agrees with it and what speaks against it.

Where the numbers of the table come from: each incident in view was diagnosed again with the signature that had
decided it switched off, with the next one off too, and with each quarter of all signatures off, as in
`tests/diagnose/ablation.py` (there 1680 verdicts, 757 of them different ones with a cause). The wrong ones are wrong
as answers to evidence that nobody has seen are. A logistic regression of right and wrong, the wrong ones weighted to
22%, gave the table.

What that does not say: which causes are symptoms, which doubts count and the 0.7 were chosen by hand with the same
verdicts in view, out of some 80 that were looked at. With other quarters off, a new fit gives 0.3 for `_TOLD` and
about the same for the rest. Right verdicts are surer than wrong ones by 0.27 there, but by 0.21 (0.84 and 0.63) on
the incidents kept aside. `tests/diagnose/test_confidence.py` holds the table to the former.
"""

from math import exp, log
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.choose import family, strength
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_MOST: Final = 0.98
_LEAST: Final = 0.05
_SIGTERM: Final = 15
_BROKE: Final = frozenset(
    {"python_exception", "assertion_failed", "type_error", "file_not_found", "numerics_divergence", "not_converged"}
    | {"segfault", "cuda_illegal_access", "cuda_api_error", "device_side_assert", "gpu_unknown_failure"}
)
"""Causes that tell how the program broke: why may stand where no signature has seen it. All sources together do not say
more of that than one."""
_WAITED: Final = frozenset(
    {"nccl_timeout_unattributed", "rendezvous_unreachable", "fabric_undeliverable", "rdma_stall", "deadlock"}
    | {"unkillable_process"}
)
"""Causes that tell that somebody waited in vain: for what may be as unseen."""
_HINT: Final = 0.45
"""Evidence up to this weight only points somewhere (docs/signatures.md): no verdict is surer than such a hint."""

# Logarithms of odds: 0.7 doubles them, 2.3 makes ten times as much.
_EVIDENCE: Final = 0.7
"""For each that the weight of the evidence gives."""
_KNOWN: Final = 1.5
"""Weights are cautious: what a signature says and nothing disputes is right more often than its weight tells."""
_RIVAL: Final = 2.1
"""For each unit of weight of the strongest fault of another class."""
_SYMPTOM: Final = 1.7
_TOLD: Final = 0.65
"""A fault beside a task that was told to end: it may be what the end looks like."""
_EARLIER: Final = 0.7
"""Something with another cause came first."""


def confidence(case: Case, root: Finding) -> float:
    """0 to 1."""
    weight = _weight(case, root)
    odds = _KNOWN + _EVIDENCE * log(weight / (1 - weight)) - _doubt(case, root)
    sure = 1 / (1 + exp(-odds))
    return round(max(_LEAST, min(_MOST, sure, weight if weight <= _HINT else 1.0)), 2)


def _weight(case: Case, root: Finding) -> float:
    """Of the root and all that agrees with it."""
    weight = root.weight
    if root.role == "root" and root.cause not in _BROKE:
        weight = strength(one for one in case.findings if family(one.cause) == family(root.cause))[family(root.cause)]
    return min(_MOST, max(_LEAST, weight))


def _doubt(case: Case, root: Finding) -> float:
    cls = cause(root.cause).cls
    rivals = [one.weight for one in case.faults() if cause(one.cause).cls is not cls]
    was_told = cls is not Class.PLANNED and any(one.signal == _SIGTERM for one in case.findings)
    return (
        _RIVAL * max(rivals, default=0.0)
        + _SYMPTOM * (root.cause in _BROKE | _WAITED)
        + _TOLD * was_told
        + _EARLIER * any(_came_first(one, root) for one in case.findings)
    )


def _came_first(one: Finding, root: Finding) -> bool:
    """It has another cause, its writer did not go on after it, and it is known to be earlier."""
    if not one.cause or one.role == "echo" or one.went_on or family(one.cause) == family(root.cause):
        return False
    if one.role == "root" and cause(one.cause).cls is Class.PLANNED:
        return False
    if one.began is not None and root.began is not None and one.began < root.began - 1:
        return True
    return one.is_line and one.order[0] == root.order[0] and one.order < root.order
