"""Which rules a node's GPUs break, with the limits that NVIDIA, DCGM and operators publish. Pure.

What could not be read breaks no rule.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from supervisor.hooks.growth import Growth
from supervisor.hooks.settings import HookSettings
from supervisor.model.node import Level, NodeFinding
from supervisor.telemetry.gpu.state import GpuState, NodeGpus

_GONE: Final = frozenset({15, 16, 28, 29})
"""NVML: lost, reset required, not found, invalid state."""
_NO_DRIVER: Final = frozenset({9, 12})
_MISMATCH: Final = 18
_ACTIONS: Final = {1: "a reset", 2: "a reboot", 3: "to drain its peers", 4: "to drain and reset it"}
_MILD_ACTIONS: Final = frozenset({3, 5})
_NOT_STARTED, _COMPLETED = 1, 3
_NO_MARGIN_C: Final = -2
"""Where boards without an absolute limit slow down: -2 on most, -3 on some."""
_HARD: Final = frozenset({"HW_THERMAL", "HW_POWER_BRAKE"})
_BY_COUNTER: Final[Mapping[str, tuple[Level, str]]] = {
    "ecc_unc_dram": ("suspect", "gpu_hbm_uncorrectable"),
    "ecc_unc_sram": ("suspect", "gpu_sram_uncorrectable"),
    "ecc_unc": ("suspect", "gpu_ecc_uncorrectable"),
    "nvlink_recovery_failed": ("fatal", "nvlink_fault"),
    "nvlink_crc": ("watch", "nvlink_fault"),
    "nvlink_replay": ("watch", "nvlink_fault"),
    "nvlink_recovery": ("watch", "nvlink_fault"),
}
"""Corrected errors and PCIe replays are noise up to very high counts: they are on record, and no rule's."""


def of_state(now: NodeGpus | None, before: NodeGpus | None, settings: HookSettings) -> Iterator[NodeFinding]:
    """What is wrong at this moment. `before`: an earlier look, for what should be there. None: it could not be read."""
    if now is None:
        return
    yield from _of_driver(now, before)
    expected = settings.expected_gpus or (before.device_count if before else None) or 0
    if now.device_count is not None and now.device_count < expected:
        text = f"{now.device_count} GPUs where {expected} are expected"
        yield NodeFinding(level="fatal", rule="gpu_missing", cause="gpu_lost", text=text)
    for index, gpu in now.gpus.items():
        was = before.gpus.get(index) if before else None
        for level, rule, cause, text in _of_gpu(gpu, settings):
            uuid = gpu.uuid or (was.uuid if was else "")
            yield NodeFinding(level=level, rule=rule, cause=cause, gpu=uuid, text=f"GPU {index}: {text}")


def _of_driver(now: NodeGpus, before: NodeGpus | None) -> Iterator[NodeFinding]:
    if now == NodeGpus():
        if before is not None and before.gpus:
            yield _driver_gone(f"NVML is not there any more; {len(before.gpus)} GPUs were seen with it")
    elif now.error_code == _MISMATCH:
        yield NodeFinding(level="fatal", rule="driver_mismatch", cause="driver_library_mismatch", text=now.error)
    elif now.error_code in _NO_DRIVER:
        # A library without a driver is usual where one image serves nodes with and without GPUs.
        if before is not None and before.gpus:
            yield _driver_gone(f"{now.error}; {len(before.gpus)} GPUs were seen before")
    elif now.error_code is not None:
        level: Level = "fatal" if now.error_code in _GONE else "suspect"
        yield NodeFinding(level=level, rule="nvml_error", cause="gpu_unknown_failure", text=f"NVML: {now.error}")


def _driver_gone(text: str) -> NodeFinding:
    return NodeFinding(level="fatal", rule="driver_gone", cause="node_misconfigured", text=text)


_Found = tuple[Level, str, str, str]


def _of_gpu(gpu: GpuState, settings: HookSettings) -> Iterator[_Found]:
    answer = f"the driver answers {gpu.error!r} (NVML {gpu.error_code})"
    if gpu.error_code in _GONE:
        yield "fatal", "gpu_lost", "gpu_lost", answer
    elif gpu.error_code is not None:
        yield "suspect", "nvml_error", "gpu_unknown_failure", answer
    yield from _of_memory(gpu, settings)
    yield from _of_heat(gpu)
    if gpu.recovery_action:
        wish = _ACTIONS.get(gpu.recovery_action, f"recovery action {gpu.recovery_action}")
        level: Level = "suspect" if gpu.recovery_action in _MILD_ACTIONS else "fatal"
        yield level, "recovery_action", "gpu_unknown_failure", f"its driver asks for {wish} (NVML field 230)"
    if gpu.fabric_state == _NOT_STARTED:
        yield "fatal", "fabric_not_started", "nvlink_fabric_unready", "the NVLink fabric is not started"
    elif gpu.fabric_state == _COMPLETED and gpu.fabric_status:
        text = f"the NVLink fabric answers with error {gpu.fabric_status}"
        yield "fatal", "fabric_failed", "nvlink_fabric_unready", text


def _of_memory(gpu: GpuState, settings: HookSettings) -> Iterator[_Found]:
    rows = gpu.remapped_rows_uncorrectable
    if gpu.remap_failure:
        text = "remapping a row of its memory failed; take it out and run the field diagnostic"
        yield "fatal", "remap_failure", "gpu_row_remap_failure", text
    if gpu.remap_pending:
        text = "a row of its memory is to be remapped: reset it between two jobs"
        yield "suspect", "remap_pending", "gpu_hbm_uncorrectable", text
    if rows is not None and rows >= settings.remapped_rows:
        text = f"{rows} rows remapped, limit {settings.remapped_rows} (NVIDIA's memory error guide)"
        yield "suspect", "remapped_rows", "gpu_row_remap_failure", text


def _of_heat(gpu: GpuState) -> Iterator[_Found]:
    """Heat makes a GPU slow and does not break it: the hardware protects itself."""
    if gpu.temp_margin_c is not None and gpu.temp_margin_c <= _NO_MARGIN_C:
        yield "suspect", "gpu_hot", "gpu_degraded", f"{-gpu.temp_margin_c} C over its own limit"
    elif gpu.temp_c is not None and gpu.temp_limit_c and gpu.temp_c >= gpu.temp_limit_c:
        yield "suspect", "gpu_hot", "gpu_degraded", f"{gpu.temp_c} C, its own limit is {gpu.temp_limit_c} C"
    if gpu.hbm_temp_c is not None and gpu.hbm_temp_limit_c and gpu.hbm_temp_c >= gpu.hbm_temp_limit_c:
        text = f"memory at {gpu.hbm_temp_c} C, its own limit is {gpu.hbm_temp_limit_c} C"
        yield "suspect", "hbm_hot", "gpu_degraded", text
    # Not HW_SLOWDOWN alone, which also flashes up when clocks change.
    if hard := [name for name in gpu.clocks_event_reasons or () if name in _HARD]:
        yield "suspect", "throttled", "gpu_degraded", f"the hardware slows it down: {', '.join(hard)}"


def of_growth(grown: Growth, settings: HookSettings) -> Iterator[NodeFinding]:
    """What has gone wrong between two looks."""
    for uuid in grown.lost:
        yield NodeFinding(level="fatal", rule="gpu_lost", cause="gpu_lost", gpu=uuid, text="it was there before")
    for uuid, links in grown.links_down.items():
        text = f"NVLink {', '.join(links[:6])} is down and was up before"
        yield NodeFinding(level="fatal", rule="nvlink_down", cause="nvlink_fault", gpu=uuid, text=text)
    for uuid, (old, new) in grown.narrower.items():
        text = f"its PCIe link has {new} lanes and had {old}"
        yield NodeFinding(level="fatal", rule="pcie_width", cause="pcie_fatal_error", gpu=uuid, text=text)
    for uuid, counters in grown.counters.items():
        for name, by in counters.items():
            if found := _of_counter(name, by, settings):
                level, cause = found
                yield NodeFinding(level=level, rule=name, cause=cause, gpu=uuid, text=f"{name} grew by {by}")


def _of_counter(name: str, by: int, settings: HookSettings) -> tuple[Level, str] | None:
    if name == "nvlink_crc" and by >= settings.nvlink_crc:
        return "suspect", "nvlink_fault"
    return _BY_COUNTER.get(name)
