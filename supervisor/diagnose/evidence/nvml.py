"""What the GPUs of a node said: lost devices, memory errors by location, repairs, links, throttling, the fabric.

Limits are those of NVIDIA's memory error guide and DCGM's health watches, as far as they are published.
"""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any, Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.numbers import number_in
from supervisor.model.ids import NodeName

_LOST: Final = ("lost", "fallen off", "unknown error", "not found", "reset required")
_MISMATCH: Final = "version mismatch"
_READY: Final = frozenset({"completed", "complete", "success", "not supported", "n/a", "", "none", "ok", "healthy"})
_DOWN: Final = frozenset({"down", "inactive", "disabled", "off", "failed"})
_THROTTLED: Final = ("HW_SLOWDOWN", "HW_THERMAL", "HW_POWER_BRAKE", "POWER_BRAKE", "SW_THERMAL")
_HARD: Final = ("HW_SLOWDOWN", "HW_THERMAL", "POWER_BRAKE")
_SLOW_SHARE: Final = 0.6
"""Of the median clock of the other GPUs: below that a busy GPU is slow."""
_BUSY_PCT: Final = 50
_MOST: Final = 2**63
"""Of NVML's own counters none is larger."""
_CRC: Final = 100
"""NVLink CRC errors from which DCGM calls a link bad (per second; here since the counters began)."""


def find(nvml: Mapping[NodeName, Mapping[str, Any]]) -> Iterator[Finding]:
    """Findings on all nodes."""
    clocks = [clock for told in nvml.values() for _, gpu in _gpus(told) if (clock := _busy_clock(gpu))]
    throttled = {node for node, told in nvml.items() if any(_reasons(gpu, _HARD) for _, gpu in _gpus(told))}
    for node, told in nvml.items():
        yield from _of_node(node, told)
        for index, gpu in _gpus(told):
            for found in _of_gpu(gpu):
                yield _finding(node, index, *found)
            if reasons := _reasons(gpu, _THROTTLED):
                is_odd = len(throttled) < len(nvml) and bool(_reasons(gpu, _HARD))
                text = f"GPU {index} is throttled: {', '.join(reasons)}"
                yield _finding(node, index, "gpu_degraded", 0.5 if is_odd else 0.2, text)
            if (clock := _busy_clock(gpu)) and len(clocks) > 2 and clock < _SLOW_SHARE * median(clocks):  # noqa: PLR2004
                text = f"GPU {index} runs at {clock} MHz, the median of all is {median(clocks):g} MHz"
                yield _finding(node, index, "gpu_degraded", 0.62, text)


def _of_node(node: NodeName, told: Mapping[str, Any]) -> Iterator[Finding]:
    error = str(told.get("error") or "")
    if _MISMATCH in error.lower():
        yield _finding(node, None, "driver_library_mismatch", 0.92, error)
    elif any(word in error.lower() for word in _LOST):
        yield _finding(node, None, "gpu_lost", 0.88, error)
    count, expected = told.get("device_count"), told.get("expected_device_count")
    if isinstance(count, int) and isinstance(expected, int) and count < expected:
        yield _finding(node, None, "gpu_lost", 0.9, f"{count} GPUs where {expected} are expected")
    state, status = (str(told.get(name) or "").lower() for name in ("fabric_state", "fabric_status"))
    if state not in _READY or status not in _READY:
        text = f"NVLink fabric: {told.get('fabric_state')} {told.get('fabric_status') or ''}".strip()
        yield _finding(node, None, "nvlink_fabric_unready", 0.86, text)


def _of_gpu(gpu: Mapping[str, Any]) -> Iterator[tuple[str, float, str]]:
    error = str(gpu.get("error") or "")
    if any(word in error.lower() for word in _LOST):
        yield "gpu_lost", 0.95, error
    if gpu.get("remap_failure"):
        yield "gpu_row_remap_failure", 0.93, "row remapping failed: its spare memory rows are used up"
    sram, dram, total = (_number(gpu, f"ecc_unc_{name}volatile") for name in ("sram_", "dram_", ""))
    if sram:
        yield "gpu_sram_uncorrectable", 0.8, f"{sram} uncorrectable errors in SRAM since its driver was loaded"
    if dram:
        yield "gpu_hbm_uncorrectable", 0.8, f"{dram} uncorrectable errors in HBM since its driver was loaded"
    if total and not sram and not dram:
        yield "gpu_ecc_uncorrectable", 0.78, f"{total} uncorrectable ECC errors since its driver was loaded"
    if links := [name for name, link in _links(gpu) if _number(link, "recovery") or _number(link, "crc") >= _CRC]:
        yield "nvlink_fault", 0.68, f"NVLink {', '.join(links[:4])} had to recover or has CRC errors"
    if down := [name for name, link in _links(gpu) if str(link.get("state") or "").lower() in _DOWN]:
        yield "nvlink_fault", 0.8, f"NVLink {', '.join(down[:4])} is down"
    action = str(gpu.get("recovery_action") or "").lower()
    if action not in _READY and action != "0":
        yield "gpu_unknown_failure", 0.6, f"its driver asks for: {gpu.get('recovery_action')}"


def _gpus(told: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    gpus = told.get("gpus")
    pairs = gpus.items() if isinstance(gpus, dict) else enumerate(gpus) if isinstance(gpus, list) else ()
    for index, gpu in pairs:
        number = number_in(index)
        if number is not None and isinstance(gpu, dict):
            yield number, gpu


def _links(gpu: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    links = gpu.get("nvlink")
    for name, link in links.items() if isinstance(links, dict) else ():
        if isinstance(link, dict):
            yield str(name), link


def _busy_clock(gpu: Mapping[str, Any]) -> float:
    """MHz of a GPU that works; 0 where it is idle or nothing is known."""
    return _number(gpu, "sm_clock_mhz") if _number(gpu, "util_pct") >= _BUSY_PCT else 0.0


def _reasons(gpu: Mapping[str, Any], wanted: tuple[str, ...]) -> list[str]:
    told = gpu.get("clocks_event_reasons")
    names = [str(one).upper() for one in told] if isinstance(told, list) else []
    return [name for name in names if any(word in name for word in wanted)]


def _number(told: Mapping[str, Any], name: str) -> float:
    value = told.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) >= _MOST:
        return 0
    return value


def _finding(node: NodeName, gpu: int | None, cause: str, weight: float, text: str) -> Finding:
    return Finding(
        signature=f"nvml_{cause}",
        role="root",
        cause=cause,
        weight=weight,
        source=f"nvml/{node}.json",
        text=text,
        node=node,
        gpu=gpu,
    )
