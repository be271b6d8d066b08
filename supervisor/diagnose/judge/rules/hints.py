"""Hints that a loader or trainer gave just before: they explain what failed then."""

from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case

_NUMBERS: Final = frozenset({"nan_in_input", "bad_batch_loss_spike", "corrupt_sample"})
_LABELS: Final = frozenset({"label_or_token_out_of_range"})
_CONTENT: Final = frozenset({"missing_samples", "empty_batch", "corrupt_sample"})
_EXPLAINS: Final = {
    "numerics_divergence": _NUMBERS,
    "numerics_regression": _NUMBERS,
    "collective_mismatch": _CONTENT,
    "uneven_inputs": _CONTENT,
    "nccl_timeout_unattributed": _NUMBERS | _CONTENT,
    "python_exception": _NUMBERS | _CONTENT,
    "assertion_failed": _NUMBERS | _CONTENT,
    "type_error": _CONTENT,
    "division_by_zero": _CONTENT,
    "cuda_illegal_access": _CONTENT | _LABELS,
    "device_side_assert": _CONTENT | _LABELS,
}
"""Which hints can be why a failure of this kind happened."""
_SPIKES: Final = frozenset({"hint_spike_of_batch", "words_spike"})
_NEAR_S: Final = 900.0
_NEAR_LINES: Final = 40
_SURE: Final = 0.86


def explain(case: Case) -> None:
    """The nearest hint before a failure that it can explain becomes the root; the failure is its echo."""
    hints = [one for one in case.findings if one.role == "context" and one.cause and not one.went_on]
    for failure in [one for one in case.findings if one.role != "context" and one.cause in _EXPLAINS]:
        fitting = [one for one in hints if one.cause in _EXPLAINS[failure.cause] and _precedes(one, failure)]
        if fitting and not any(one.weight > _SURE for one in case.faults() if one.cause != failure.cause):
            hint = fitting[-1]
            case.change(lambda one, hint=hint: one is hint, role="root", weight=_SURE)  # type: ignore[misc]
            case.change(lambda one, failure=failure: one.role == "root" and one.cause == failure.cause, role="echo")  # type: ignore[misc]
            return


def spike_is_enough(case: Case) -> None:
    """A guard that ended the run because of a batch has said why, where nothing else failed."""
    told = [one for one in case.findings if one.signature in _SPIKES]
    if told and not case.faults():
        case.change(lambda one: one is told[-1], role="root", scope="job", weight=0.7)


def _precedes(one: Finding, failure: Finding) -> bool:
    if one.time is not None and failure.began is not None:
        return -_NEAR_S <= one.time - failure.began <= _NEAR_S / 10
    if one.order[0] == failure.order[0]:
        return 0 < failure.order[1] - one.order[1] <= _NEAR_LINES
    return one.rank == failure.rank
