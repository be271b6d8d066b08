"""How sure a verdict is: the odds that its class is right, by what agrees with it and what speaks against it.

Where the numbers of the table come from: each incident in view was diagnosed again with the signature that had
decided it switched off, with the next one off too, with each quarter of all signatures off
(`tests/diagnose/ablation.py`), and with all signatures of its cause or its class off. The wrong ones among the 1072
different verdicts with a cause are wrong as answers to evidence that nobody has seen are. A logistic regression of
right and wrong, the wrong ones weighted to a quarter, gave the table; fitted on nine tenths of the incidents, it tells
right from wrong by 0.28 on the last tenth (0.82 and 0.54).

What that does not say: which causes are symptoms and which doubts count was chosen by hand with the same verdicts in
view, out of some twenty that were tried. A task that was told to end, other sources in the same log and a last line
that no signature knows made no difference. `tests/diagnose/test_confidence.py` holds the table to the former.
"""

from math import exp, log
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.choose import family, strength
from supervisor.diagnose.judge.last_words import COMPLAINT, RAISED
from supervisor.diagnose.judge.rules.absent import OTHERWISE
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_MOST: Final = 0.98
_LEAST: Final = 0.05
_BROKE: Final = frozenset(
    {"python_exception", "assertion_failed", "type_error", "file_not_found", "numerics_divergence", "not_converged"}
    | {"segfault", "cuda_illegal_access", "cuda_api_error", "device_side_assert"}
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

_READ_INTO: Final = frozenset({"python_traceback", RAISED, COMPLAINT})
"""No signature says what these lines mean: rules took it from their words."""
_IN_WORDS: Final = frozenset({"asked_in_words", "system_in_words", OTHERWISE})
"""A single late line that a rule read by its meaning."""
_MIDWAY: Final = frozenset({"python_exception", "assertion_failed", "type_error", "file_not_found"})
_DEVICES: Final = ("kernel/", "nvml/", "rdma/")

# Logarithms of odds: 0.7 doubles them, 2.3 makes ten times as much.
_EVIDENCE: Final = 0.48
"""For each that the weight of the evidence gives."""
_KNOWN: Final = 1.5
"""Weights are cautious: what a signature says and nothing disputes is right more often than its weight tells."""
_DEVICE: Final = 1.0
"""Kernels and counters have few reasons to say what they say."""
_FRAME: Final = 0.8
"""A traceback is at hand, down to the program's own code."""
_RIVAL: Final = 1.9
"""For each unit of weight of the strongest fault of another class."""
_SYMPTOM: Final = 1.9
_WORDS: Final = 1.3
"""That the data are at fault was read into the words of a plain exception; or all into those of one last line."""
_PEER: Final = 1.2
"""Somebody else tells of it."""
_AFTER_STEPS: Final = 0.7
"""The program had worked till then: what it met may be to blame, and not its code."""
_EARLIER: Final = 0.6
"""Something with another cause came first."""


def confidence(case: Case, root: Finding) -> float:
    """0 to 1."""
    weight = _weight(case, root)
    odds = _KNOWN + _EVIDENCE * log(weight / (1 - weight)) + _trust(root) - _doubt(case, root)
    sure = 1 / (1 + exp(-odds))
    return round(max(_LEAST, min(_MOST, sure, weight if weight <= _HINT else 1.0)), 2)


def _trust(root: Finding) -> float:
    return _DEVICE * root.source.startswith(_DEVICES) + _FRAME * (root.frame is not None)


def _weight(case: Case, root: Finding) -> float:
    """Of the root and all that agrees with it."""
    weight = root.weight
    if root.role == "root" and root.cause not in _BROKE:
        weight = strength(one for one in case.findings if family(one.cause) == family(root.cause))[family(root.cause)]
    return min(_MOST, max(_LEAST, weight))


def _doubt(case: Case, root: Finding) -> float:
    cls = cause(root.cause).cls
    rivals = [one.weight for one in case.faults() if cause(one.cause).cls is not cls]
    return (
        _RIVAL * max(rivals, default=0.0)
        + _SYMPTOM * (root.cause in _BROKE | _WAITED)
        + _WORDS * ((cls is Class.DATA and root.signature in _READ_INTO) or root.signature in _IN_WORDS)
        + _PEER * (root.scope == "peer")
        + _AFTER_STEPS * (root.cause in _MIDWAY and case.made_progress)
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
