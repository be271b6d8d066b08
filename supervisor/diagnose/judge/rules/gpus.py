"""GPUs: an application's Xid beside what ranks say, repeats on one device, wrong numbers, a device that just fails."""

import re
from collections import defaultdict
from itertools import pairwise
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case

_APPLICATION: Final = "cuda_illegal_access"
_APART_S: Final = 900.0
"""Two faults so far apart are of two runs of a program, not of one launch."""
_REPEATS: Final = 2
_NAN: Final = frozenset({"numerics_divergence", "nan_in_input"})
_MEMORY: Final = frozenset(
    {"gpu_ecc_uncorrectable", "gpu_sram_uncorrectable", "gpu_hbm_uncorrectable", "sdc_suspected"}
)
_SOMEWHERE: Final = "gpu_ecc_uncorrectable"
_ECC: Final = (_SOMEWHERE, "gpu_sram_uncorrectable", "gpu_hbm_uncorrectable")
_DEVICE: Final = frozenset(
    {
        "gpu_lost",
        "gpu_ecc_uncorrectable",
        "gpu_hbm_uncorrectable",
        "gpu_sram_uncorrectable",
        "gpu_row_remap_failure",
        "gpu_firmware_fault",
        "gpu_repeat_fault",
        "nvlink_fault",
        "nvswitch_fault",
        "pcie_fatal_error",
        "sdc_suspected",
    }
)
_EXPLAINED: Final = frozenset({"cuda_illegal_access", "cuda_api_error", "gpu_unknown_failure", "segfault"})
_GUARDS: Final = frozenset({"assertion_failed", "python_exception", "deadlock", "not_converged"})
_SLOW: Final = re.compile(
    r"throughput|t(?:era)?flop|too slow|slow(?:er|down)?\b|straggler|"
    r"(?:step|iteration) time|tokens? ?(?:/s|per)|\bmfu\b",
    re.IGNORECASE,
)
_FIRM: Final = 0.75
_NEAR_S: Final = 300.0
_REFUSED: Final = re.compile(
    r"invalid (?:configuration|argument|value|device function|resource handle|image)|too many resources|not supported|"
    r"not (?:been )?found|already|NOT_SUPPORTED|BAD_PARAM|INVALID_VALUE|NOT_INITIALIZED",
    re.IGNORECASE,
)
"""CUDA refuses what it was asked for: the program asks the same of every device."""
_VAGUE: Final = frozenset({"cuda_api_error", "gpu_unknown_failure"})


def kernel_only(case: Case) -> None:
    """An application's Xid without any rank's CUDA error on that node is hardly why the job ended."""
    nodes = {
        case.node_of(one) for one in case.roots() if not _is_kernel(one) and one.cause.startswith(("cuda_", "device_"))
    }
    case.change(
        lambda one: _is_kernel(one) and one.cause == _APPLICATION and one.node is not None and one.node not in nodes,
        weight=0.3,
    )


def repeats(case: Case) -> None:
    """The same PCI id again under different processes: suspect the GPU (NVIDIA's workflow for Xid 13 and 31)."""
    by_device: dict[tuple[str | None, str], list[Finding]] = defaultdict(list)
    for one in case.findings:
        if _is_kernel(one) and one.pci and one.cause == _APPLICATION:
            by_device[one.node, one.pci].append(one)
    for group in by_device.values():
        if _episodes(group) > _REPEATS or (_episodes(group) >= _REPEATS and len(by_device) == 1):
            case.change(lambda one, group=group: one in group[:-1], role="context")  # type: ignore[misc]
            case.change(lambda one, last=group[-1]: one is last, cause="gpu_repeat_fault", role="root", weight=0.88)  # type: ignore[misc]


def nvlink_by_kernel(case: Case) -> None:
    """A fatal NVLink line names its GPU; CUDA's NVLink errors on other nodes are its remote side, later ones too."""
    told = [one for one in case.of("nvlink_fault", "nvswitch_fault") if _is_kernel(one)]
    if not told:
        return
    first = min(told, key=lambda one: (one.time is None, one.time or 0.0, one.order))
    case.change(
        lambda one: (
            one.role == "root" and one.cause in {"nvlink_fault", "nvswitch_fault"} and one.node != first.node
            if _is_kernel(one)
            else one.role == "root" and one.cause == "nvlink_fault" and case.node_of(one) not in {first.node, None}
        ),
        role="echo",
    )


def device_explains(case: Case) -> None:
    """A GPU that failed explains the vague CUDA errors of the ranks on its node within some minutes of it."""
    for device in [one for one in case.roots() if one.cause in _DEVICE and one.weight >= _FIRM]:
        node = case.node_of(device)
        case.change(
            lambda one, device=device, node=node: (  # type: ignore[misc]
                one.role == "root"
                and one.cause in _EXPLAINED
                and not _is_kernel(one)
                and node is not None
                and case.node_of(one) in {node, None}
                and (_is_near(one, device) or device.cause == "gpu_repeat_fault")
            ),
            role="echo",
        )


def silent_corruption(case: Case) -> None:
    """Numbers that are none, and a GPU that admits errors of its memory: the device computes wrong (Xid 140, SRAM)."""
    nodes = {case.node_of(one) for one in case.roots() if one.cause in _MEMORY and _is_escape(one)}
    nan = [one for one in case.findings if one.cause in _NAN and one.role == "root"]
    asserts = [one for one in case.findings if "nan" in one.text.lower() and one.cause == "device_side_assert"]
    if nodes and (nan or asserts):
        case.change(
            lambda one: one.role == "root" and one.cause in _MEMORY and case.node_of(one) in nodes,
            cause="sdc_suspected",
            weight=0.92,
        )
        case.change(lambda one: one.role == "root" and (one in nan or one in asserts), role="echo")


def memory_place(case: Case) -> None:
    """Where a GPU's memory failed, by its counters or by a detail beside the Xid, holds for all that tells of it."""
    nodes = {case.node_of(one) for one in case.of(*_ECC)}
    for node in nodes:
        here = {node, None} if len(nodes - {None}) == 1 else {node}
        told = [one for one in case.of(*_ECC) if case.node_of(one) in here and one.cause != _SOMEWHERE]
        counted = {one.cause for one in told if one.source.startswith("nvml/")}
        places = counted if len(counted) == 1 else {one.cause for one in told}
        if len(places) == 1:
            case.change(
                lambda one, here=here: one.role == "root" and one.cause in _ECC and case.node_of(one) in here,  # type: ignore[misc]
                cause=next(iter(places)),
            )


def remap_explains(case: Case) -> None:
    """A memory error that could not be repaired: that the spare rows are used up is why the device must go."""
    nodes = {case.node_of(one) for one in case.of("gpu_row_remap_failure")}
    case.change(lambda one: one.role == "root" and one.cause in _ECC and case.node_of(one) in nodes, role="echo")


def slow_explains(case: Case) -> None:
    """A guard ended a run that had become slow, and one GPU is slowed down: that is why."""
    slow = [one for one in case.findings if one.cause == "gpu_degraded"]
    told = [one for one in case.roots() if one.cause in _GUARDS and _SLOW.search(one.text)]
    if slow and told:
        best = max(slow, key=lambda one: one.weight)
        case.change(lambda one: one is best, role="root", weight=0.86)
        case.change(told, role="echo")


def alone_and_sudden(case: Case) -> None:
    """One device fails after a run that worked, and nothing else explains it: a GPU fault of unknown kind."""
    vague = [one for one in case.roots() if one.cause in _VAGUE and not _REFUSED.search(one.text)]
    others = [one for one in case.faults() if one.cause not in _VAGUE and one.weight >= 0.7]  # noqa: PLR2004 - as sure as that
    ranks = {one.rank for one in vague}
    if not vague or others or len(ranks) > 1 or not case.made_progress:
        return
    case.change(vague, cause="gpu_unknown_failure", weight=0.72)


def _is_near(one: Finding, other: Finding) -> bool:
    return one.time is None or other.time is None or abs(one.time - other.time) <= _NEAR_S


def _is_escape(one: Finding) -> bool:
    return one.number == "140" or one.cause in {"gpu_sram_uncorrectable", "sdc_suspected"}


def _episodes(group: list[Finding]) -> int:
    """How many runs the faults fall into: another process, or a quarter of an hour later."""
    times = sorted({(one.time or 0.0, one.pid or 0) for one in group})
    pids = {one.pid for one in group if one.pid is not None}
    gaps = 1 + sum(later[0] - sooner[0] > _APART_S for sooner, later in pairwise(times))
    return min(gaps, len(pids)) if pids else gaps


def _is_kernel(one: Finding) -> bool:
    return one.source.startswith("kernel/") or "NVRM" in one.text
