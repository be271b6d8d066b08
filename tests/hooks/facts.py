"""Facts about nodes, made in one line."""

from typing import Any

from supervisor.hooks.job import Job
from supervisor.hooks.kernel_signs import KernelSign
from supervisor.hooks.reading import KernelSpan, Marks, Reading
from supervisor.model.node import NodeFinding
from supervisor.telemetry.gpu.state import GpuLink, GpuState, NodeGpus

JOB = Job(node="n1", job_id=7, uid=20001, gpus=(0, 1))
NOW = 1_000_000.0


def gpu(index: int = 0, **more: Any) -> GpuState:
    """A healthy GPU but for what is given."""
    healthy: dict[str, Any] = {
        "uuid": f"GPU-{index}",
        "pci": f"00000000:{0x10 + index:02X}:00.0",
        "minor": index,
        "recovery_action": 0,
        "ecc_unc_volatile": 0,
        "ecc_unc_dram_volatile": 0,
        "ecc_unc_sram_volatile": 0,
        "remapped_rows_uncorrectable": 0,
        "remap_pending": False,
        "remap_failure": False,
        "pcie_width": 16,
        "mem_used_mib": 4,
        "processes": (),
        "nvlink": {"0": GpuLink(active=True, replay=0, recovery=0, crc=0)},
    }
    return GpuState(**{**healthy, **more})


def node(*gpus: GpuState) -> NodeGpus:
    """A node with these GPUs."""
    return NodeGpus(
        driver_version="555", device_count=len(gpus), gpus={str(index): each for index, each in enumerate(gpus)}
    )


def reading(*gpus: GpuState, at: float = NOW, boot: str = "b1", **more: Any) -> Reading:
    """A look at a node."""
    marks = more.pop("marks", Marks(boot_id=boot, kernel_number=10, oom_kills=3))
    signs = more.pop("signs", ())
    kernel = more.pop("kernel", KernelSpan(signs=signs, last=20))
    return Reading(at=at, marks=marks, gpus=node(*gpus) if gpus else None, kernel=kernel, uptime_s=90_000.0, **more)


def xid(number: int, *, pci: str = "0000:10:00", level: Any = "fatal") -> KernelSign:
    """A message of the driver."""
    return KernelSign(rule=f"xid_{number}", level=level, cause="gpu_lost", xid=number, pci=pci, number=15, text="Xid")


def finding(rule: str = "remap_failure", level: Any = "fatal", gpu_uuid: str = "GPU-0") -> NodeFinding:
    """One rule that fired."""
    return NodeFinding(level=level, rule=rule, gpu=gpu_uuid)
