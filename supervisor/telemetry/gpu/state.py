"""What can be told about the health of a node's GPUs at one moment, whoever made them.

The names are those of `nvml/<node>.json` in an evidence bundle. None is "could not be read", which is never 0.
"""

import msgspec

from supervisor.model.base import Fact


class GpuLink(Fact, frozen=True, kw_only=True):
    """One NVLink; counters since the driver was loaded."""

    active: bool | None = None
    replay: int | None = None
    recovery: int | None = None
    recovery_failed: int | None = None
    """NVLink 5 only."""
    crc: int | None = None


class GpuProcess(Fact, frozen=True, kw_only=True):
    """A process that computes on a GPU; its pid is the host's."""

    pid: int
    used_mib: int | None = None


class GpuState(Fact, frozen=True, kw_only=True):
    """One GPU; counters since the driver was loaded, aggregates over its life."""

    uuid: str = ""
    pci: str = ""
    serial: str = ""
    minor: int | None = None
    """The number in /dev/nvidia<N>, by which Slurm names it."""
    error: str = ""
    """What the driver answered in place of the device; empty: it answers."""
    error_code: int | None = None
    recovery_action: int | None = None
    """The driver's own verdict: 0 none, 1 reset, 2 reboot, 3 drain peers, 4 drain and reset, 5 and more: newer ones."""
    ecc_corr_dram_volatile: int | None = None
    ecc_unc_volatile: int | None = None
    ecc_unc_dram_volatile: int | None = None
    ecc_unc_sram_volatile: int | None = None
    ecc_unc_aggregate: int | None = None
    remapped_rows_uncorrectable: int | None = None
    remap_pending: bool | None = None
    remap_failure: bool | None = None
    nvlink: dict[str, GpuLink] = msgspec.field(default_factory=dict)
    """Link number: link; empty where it has none or they cannot be counted."""
    fabric_state: int | None = None
    """0 has none, 1 not started, 2 in progress, 3 completed."""
    fabric_status: int | None = None
    """The driver's error code; counts when completed."""
    pcie_width: int | None = None
    pcie_replay: int | None = None
    temp_c: int | None = None
    temp_limit_c: int | None = None
    """Where it begins to slow itself down; told up to Ampere."""
    temp_margin_c: int | None = None
    """Left to that; told from Ada and Hopper on, and below 0 when it is over."""
    hbm_temp_c: int | None = None
    hbm_temp_limit_c: int | None = None
    clocks_event_reasons: tuple[str, ...] | None = None
    """Why it runs slower than it could: HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, HW_POWER_BRAKE."""
    power_w: float | None = None
    mem_used_mib: int | None = None
    mem_total_mib: int | None = None
    processes: tuple[GpuProcess, ...] | None = None


class NodeGpus(Fact, frozen=True, kw_only=True):
    """All GPUs of a node."""

    driver_version: str = ""
    device_count: int | None = None
    error: str = ""
    """Why the driver as a whole gives no answer."""
    error_code: int | None = None
    gpus: dict[str, GpuState] = msgspec.field(default_factory=dict)
    """The driver's index: state."""
