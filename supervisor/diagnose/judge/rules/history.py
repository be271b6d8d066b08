"""What earlier attempts and checks tell: the same elsewhere is the program's or the data's, a good check rules out."""

import re
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.model.ids import NodeName

_ATTEMPT: Final = re.compile(r"\b(?:attempt|restart|retry|try|run)s? ?#?(\d{1,3})", re.IGNORECASE)
_REPEATED: Final = 2
_WELL: Final = re.compile(r"ok|clean|pass|converge|no nan", re.IGNORECASE)
_WRONG_NUMBERS: Final = re.compile(r"\bnan\b|\binf\b|diverg|non-finite", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z][\w-]{0,62}\d")
_NUMBERS: Final = frozenset({"numerics_divergence", "nan_in_input", "sdc_suspected"})
_GUARDS: Final = frozenset({"assertion_failed", "python_exception"})
_DIFFER: Final = re.compile(
    r"diverge|differ|mismatch|not (?:equal|identical|match)|checksum|digest|\bhash|replica|\bnan\b|\binf\b",
    re.IGNORECASE,
)
_ILLEGAL: Final = frozenset({"cuda_illegal_access", "cuda_api_error", "gpu_unknown_failure"})
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
    blamed = {node for one in case.known("ablation_with") for node in case.named_nodes(one)}
    if not good or not (bad or blamed):
        return
    odd = good[0].intersection(*good[1:]).difference(*bad)
    odd = odd & blamed if blamed and not bad else odd
    if len(odd) == 1:
        node = next(iter(odd))
        last = told[-1]
        case.change(lambda one: one is last, role="root", cause="sdc_suspected", weight=0.86, node=node, names="")
        case.change(lambda one: one.role == "root" and one.cause.startswith("numerics_"), role="echo")


def same_node(case: Case) -> None:
    """Attempts on other nodes and with other ranks ended at one and the same node each time: its device is to blame."""
    named = [{node for node in _NAME.findall(one.text) if node in case.nodes} for one in case.marked("history")]
    single = [next(iter(nodes)) for nodes in named if len(nodes) == 1]
    failed = [one for one in case.roots() if _is_odd_number(one) or one.cause in _ILLEGAL]
    if len(single) < _REPEATED or len(set(single)) > 1 or not failed:
        return
    node = NodeName(single[0])
    if any(_is_odd_number(one) for one in failed):
        what = "sdc_suspected"
    elif case.node_of(failed[0]) == node:
        what = "gpu_repeat_fault"
    else:
        return
    case.change(lambda one: one is failed[0], cause=what, weight=0.86, node=node, rank=None, gpu=None, frame=None)
    case.change(failed[1:], role="echo")


def _is_odd_number(one: Finding) -> bool:
    """It tells of numbers that are none, or that differ between replicas."""
    return one.cause in _NUMBERS or (one.cause in _GUARDS and bool(_DIFFER.search(one.text)))


def checked_good(case: Case) -> None:
    """A reader that fails on files which a check found good is itself at fault."""
    good = " ".join(one.text for one in case.marked("good"))
    if not good or not re.search(r"shard|\.tar|\.parquet|\.json|file|sample", good, re.IGNORECASE):
        return
    told = [one for one in case.roots() if one.cause in _READ or one.cause == "python_exception"]
    case.change(told, cause="library_version_incompat", weight=0.74)
