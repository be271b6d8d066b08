"""NVIDIA's devices through NVML."""

import ctypes
from types import ModuleType
from typing import Final

from supervisor.telemetry.gpu.reader import GpuFacts

LIBRARY: Final = "libnvidia-ml.so.1"
"""What pynvml looks for; asked first, because importing pynvml costs 5 MB that a node without a driver need not pay."""


class NvmlReader:
    """A `GpuReader` over pynvml. Opens the driver for each reading: between them it holds nothing."""

    def facts(self) -> GpuFacts | None:
        """Driver version and device count; None where there is no driver or it gives no answer."""
        try:
            ctypes.CDLL(LIBRARY)
            import pynvml  # see LIBRARY
        except (OSError, ImportError):
            return None
        return _facts(pynvml)


def _facts(nvml: ModuleType) -> GpuFacts | None:
    refused = refusals(nvml)
    try:
        nvml.nvmlInit()
    except refused:
        return None
    try:
        version = nvml.nvmlSystemGetDriverVersion()
        # Old releases of pynvml answer in bytes.
        text = version.decode() if isinstance(version, bytes) else str(version)
        return GpuFacts(driver_version=text, device_count=int(nvml.nvmlDeviceGetCount()))
    except refused:
        return None
    finally:
        shut_down(nvml, refused)


def refusals(nvml: ModuleType) -> tuple[type[Exception], ...]:
    """All that pynvml raises: NVMLLibraryMismatchError is no NVMLError but a bare Exception of its own."""
    return (nvml.NVMLError, nvml.NVMLLibraryMismatchError)


def shut_down(nvml: ModuleType, refused: tuple[type[Exception], ...]) -> None:
    """Close NVML; a driver that refuses even that holds nobody up."""
    try:
        nvml.nvmlShutdown()
    except refused:
        return
