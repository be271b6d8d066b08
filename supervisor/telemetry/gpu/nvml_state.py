"""The state of NVIDIA's devices: opens NVML, asks once, closes it.

Calls may hang for as long as a broken driver likes: ask in a process or thread that can be given up.
"""

import ctypes
from types import ModuleType
from typing import Any, Final

from supervisor.telemetry.gpu.nvml import LIBRARY, refusals, shut_down
from supervisor.telemetry.gpu.state import GpuLink, GpuProcess, GpuState, NodeGpus

_MIB: Final = 1024 * 1024
_GONE: Final = frozenset({8, 11, 14, 15, 16, 28, 29, 999})
"""Insufficient power, IRQ, corrupted InfoROM, lost, reset required, not found, invalid state, unknown: the device's."""
_LOST: Final = frozenset({15, 16, 28, 29})
"""Of a device that answers so nothing more is asked: each further call may take seconds."""
_CORRECTED, _UNCORRECTED = 0, 1
_VOLATILE, _AGGREGATE = 0, 1
_DRAM, _SRAM = 2, 7
_FIELD_HBM_TEMP, _FIELD_LINKS, _FIELD_RECOVERY = 82, 91, 230
_LINK5_RECOVERED, _LINK5_FAILED, _LINK5_EVENTS = 213, 214, 215
_REPLAY, _RECOVERY, _CRC_FLIT = 0, 1, 2
_MOST_LINKS: Final = 36
_SLOWDOWN, _MEMORY_MAX = 1, 2
_REASONS: Final = {0x8: "HW_SLOWDOWN", 0x20: "SW_THERMAL", 0x40: "HW_THERMAL", 0x80: "HW_POWER_BRAKE"}
"""Those that tell of trouble: a power cap under load and an idle clock do not."""


def sample() -> NodeGpus | None:
    """Every device's state; None where there is no NVML."""
    try:
        ctypes.CDLL(LIBRARY)
        import pynvml  # see LIBRARY
    except (OSError, ImportError):
        return None
    return _sampled(pynvml)


def _sampled(nvml: ModuleType) -> NodeGpus:
    refused = refusals(nvml)
    try:
        nvml.nvmlInit()
    except refused as exc:
        return NodeGpus(error=str(exc), error_code=getattr(exc, "value", None))
    try:
        version = nvml.nvmlSystemGetDriverVersion()
        count = int(nvml.nvmlDeviceGetCount())
        text = version.decode() if isinstance(version, bytes) else str(version)
        gpus = {str(index): _gpu(nvml, index) for index in range(count)}
        return NodeGpus(driver_version=text, device_count=count, gpus=gpus)
    except refused as exc:
        return NodeGpus(error=str(exc), error_code=getattr(exc, "value", None))
    finally:
        shut_down(nvml, refused)


class _Device:
    """Asks one device; remembers what it answered in place of a value."""

    def __init__(self, nvml: ModuleType, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self.error = ""
        self.error_code: int | None = None

    def ask(self, name: str, *arguments: Any) -> Any:
        """The answer; None where this driver, device or pynvml has none."""
        call = getattr(self._nvml, name, None)
        if call is None or self.error_code in _LOST:
            return None
        try:
            return call(self._handle, *arguments)
        except refusals(self._nvml) as exc:
            code = getattr(exc, "value", None)
            if code in _GONE and self.error_code is None:
                self.error, self.error_code = str(exc), code
            return None

    def fields(self, *wanted: tuple[int, int]) -> dict[tuple[int, int], int]:
        """Field and scope: value, of those that the driver really answered; one call for all."""
        found = {}
        for value in self.ask("nvmlDeviceGetFieldValues", list(wanted)) or ():
            # Without this look a value that is not supported reads as 0.
            if value.nvmlReturn == 0:
                found[(value.fieldId, value.scopeId)] = _value(value)
        return found

    def text(self, name: str) -> str:
        """The answer as text; old releases of pynvml answer in bytes."""
        told = self.ask(name)
        return told.decode(errors="replace") if isinstance(told, bytes) else str(told or "")


def _value(field: Any) -> int:
    by_type = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    return int(getattr(field.value, by_type[field.valueType] if field.valueType < len(by_type) else "ullVal"))


def _gpu(nvml: ModuleType, index: int) -> GpuState:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except refusals(nvml) as exc:
        return GpuState(error=str(exc), error_code=getattr(exc, "value", None))
    device = _Device(nvml, handle)
    facts = {**_names(device), **_memory_errors(device), **_use(device), **_heat(device), **_fabric(device, nvml)}
    fields = device.fields((_FIELD_RECOVERY, 0), (_FIELD_LINKS, 0), (_FIELD_HBM_TEMP, 0))
    return GpuState(
        **facts,
        recovery_action=fields.get((_FIELD_RECOVERY, 0)),
        hbm_temp_c=fields.get((_FIELD_HBM_TEMP, 0)),
        nvlink=_links(device, min(fields.get((_FIELD_LINKS, 0), 0), _MOST_LINKS)),
        error=device.error,
        error_code=device.error_code,
    )


def _names(device: _Device) -> dict[str, Any]:
    pci = device.ask("nvmlDeviceGetPciInfo")
    bus = getattr(pci, "busId", "")
    return {
        "uuid": device.text("nvmlDeviceGetUUID"),
        "serial": device.text("nvmlDeviceGetSerial"),
        "pci": bus.decode(errors="replace") if isinstance(bus, bytes) else str(bus),
        "minor": device.ask("nvmlDeviceGetMinorNumber"),
    }


def _memory_errors(device: _Device) -> dict[str, Any]:
    by_place, total = "nvmlDeviceGetMemoryErrorCounter", "nvmlDeviceGetTotalEccErrors"
    rows = device.ask("nvmlDeviceGetRemappedRows")
    return {
        "ecc_corr_dram_volatile": device.ask(by_place, _CORRECTED, _VOLATILE, _DRAM),
        "ecc_unc_dram_volatile": device.ask(by_place, _UNCORRECTED, _VOLATILE, _DRAM),
        "ecc_unc_sram_volatile": device.ask(by_place, _UNCORRECTED, _VOLATILE, _SRAM),
        "ecc_unc_volatile": device.ask(total, _UNCORRECTED, _VOLATILE),
        "ecc_unc_aggregate": device.ask(total, _UNCORRECTED, _AGGREGATE),
        "remapped_rows_uncorrectable": rows[1] if rows else None,
        "remap_pending": bool(rows[2]) if rows else None,
        "remap_failure": bool(rows[3]) if rows else None,
    }


def _use(device: _Device) -> dict[str, Any]:
    memory = device.ask("nvmlDeviceGetMemoryInfo")
    running = device.ask("nvmlDeviceGetComputeRunningProcesses")
    power_mw = device.ask("nvmlDeviceGetPowerUsage")
    return {
        "mem_used_mib": memory.used // _MIB if memory else None,
        "mem_total_mib": memory.total // _MIB if memory else None,
        "power_w": None if power_mw is None else power_mw / 1000,
        "pcie_width": device.ask("nvmlDeviceGetCurrPcieLinkWidth"),
        "pcie_replay": device.ask("nvmlDeviceGetPcieReplayCounter"),
        "processes": None
        if running is None
        else tuple(
            GpuProcess(pid=one.pid, used_mib=None if one.usedGpuMemory is None else one.usedGpuMemory // _MIB)
            for one in running
        ),
    }


def _heat(device: _Device) -> dict[str, Any]:
    bits = device.ask("nvmlDeviceGetCurrentClocksEventReasons")
    if bits is None:
        bits = device.ask("nvmlDeviceGetCurrentClocksThrottleReasons")  # the older name
    limit = "nvmlDeviceGetTemperatureThreshold"
    return {
        "temp_c": device.ask("nvmlDeviceGetTemperature", 0),
        "temp_limit_c": device.ask(limit, _SLOWDOWN),
        "temp_margin_c": device.ask("nvmlDeviceGetMarginTemperature"),
        "hbm_temp_limit_c": device.ask(limit, _MEMORY_MAX),
        "clocks_event_reasons": None if bits is None else tuple(name for bit, name in _REASONS.items() if bits & bit),
    }


def _fabric(device: _Device, nvml: ModuleType) -> dict[str, Any]:
    """State and status of the NVSwitch fabric; nothing where driver or pynvml do not know of one."""
    kind = getattr(nvml, "c_nvmlGpuFabricInfo_v2_t", None)
    if kind is None:
        return {}
    info = kind()
    # The struct itself, in place of a reference to it, would end this process.
    if device.ask("nvmlDeviceGetGpuFabricInfoV", ctypes.byref(info)) is None:
        return {}
    return {"fabric_state": int(info.state), "fabric_status": int(info.status)}


def _links(device: _Device, count: int) -> dict[str, GpuLink]:
    if not count:
        return {}
    # The ids of older generations answer "success, 0" on newer ones: the family is found by asking, never assumed.
    is_fifth = bool(device.fields((_LINK5_EVENTS, 0)))
    told: dict[tuple[int, int], int] = {}
    if is_fifth:
        told = device.fields(*((field, link) for link in range(count) for field in (_LINK5_RECOVERED, _LINK5_FAILED)))
    return {str(link): _link(device, link, told if is_fifth else None) for link in range(count)}


def _link(device: _Device, link: int, fifth: dict[tuple[int, int], int] | None) -> GpuLink:
    state = device.ask("nvmlDeviceGetNvLinkState", link)
    active = None if state is None else bool(state)
    if fifth is not None:
        return GpuLink(
            active=active,
            recovery=fifth.get((_LINK5_RECOVERED, link)),
            recovery_failed=fifth.get((_LINK5_FAILED, link)),
        )
    counter = "nvmlDeviceGetNvLinkErrorCounter"
    return GpuLink(
        active=active,
        replay=device.ask(counter, link, _REPLAY),
        recovery=device.ask(counter, link, _RECOVERY),
        crc=device.ask(counter, link, _CRC_FLIT),
    )
