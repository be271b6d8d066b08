"""What lines of the kernel's log mean for a node. Pure.

Levels are those of the published tables (NVIDIA's Xid catalogue, DCGM, operators' lists); where they disagree the
milder one stands here: what a user's program can bring about must not take a node out.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from supervisor.model.base import Fact
from supervisor.model.node import Level
from supervisor.telemetry.kernel_log import KernelLine

_TOLD: Final = "in the kernel's log"
"""Beside the rule's name, which says what."""
_MOST: Final = 200
"""Kinds of signs that are kept of one span."""


class KernelSign(Fact, frozen=True, kw_only=True):
    """One kind of message, with how often it came and with what number it came last."""

    rule: str
    level: Level
    cause: str = ""
    xid: int | None = None
    pci: str = ""
    count: int = 1
    number: int = 0
    text: str = ""


XID: Final = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]{7,16})\): (\d{1,4})\b(.*)")
_OOM: Final = re.compile(r"(?:Memory cgroup out of memory|Out of memory): Killed process \d+")
_OF_PROCESS: Final = re.compile(r".{0,15}(?:\[\d+\][: ]|\(\d+\):| invoked oom-killer|: page allocation failure)")
"""What the kernel says of a process begins with its name, which the process has chosen: it may look like anything."""
_BY_XID: Final[dict[int, tuple[Level, str]]] = {
    **dict.fromkeys((46, 136, 143, 155, 156, 158), ("fatal", "gpu_unknown_failure")),
    48: ("fatal", "gpu_ecc_uncorrectable"),
    64: ("fatal", "gpu_row_remap_failure"),
    79: ("fatal", "gpu_lost"),
    95: ("fatal", "gpu_ecc_uncorrectable"),
    **dict.fromkeys((62, 119, 120), ("fatal", "gpu_firmware_fault")),
    140: ("fatal", "gpu_ecc_uncorrectable"),
    # A program's own fault (13) can be what begins a context-switch timeout.
    **dict.fromkeys((109, 110, 167), ("suspect", "gpu_unknown_failure")),
    **dict.fromkeys((54, 61, 92), ("suspect", "gpu_degraded")),
    94: ("suspect", "gpu_ecc_uncorrectable"),
    **dict.fromkeys((74, *range(144, 151)), ("suspect", "nvlink_fault")),
}
"""All others are watched."""
_NVLINK_XIDS: Final = frozenset({74, *range(144, 151)})
_AT: Final = r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: "
"""A device's address. With a driver's name before it, it is longer than any name of a process."""
_GPU_AT: Final = r"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?[0-9a-fA-F]{4,}:[0-9a-fA-F:.]{5,}"
_DRIVERS: Final = r"(?:pcieport|nvidia|mlx5_core|nvme)"
_DISK: Final = r"(?:EXT4-fs|XFS|BTRFS) \(\S+\)"
_RULES: Final[tuple[tuple[str, str, Level, str], ...]] = (
    (rf"{_GPU_AT}.*fallen off the bus", "gpu_off_bus", "fatal", "gpu_lost"),
    (r"nvidia-nvswitch\d+: SXid \(PCI:\S+\): \d+, Fatal", "nvswitch_fatal", "fatal", "nvswitch_fault"),
    (r"mce: \[Hardware Error\]: .*(?:Uncorrected|Processor context corrupt)", "mce", "fatal", "host_machine_check"),
    (r"EDAC MC\d+: \d+ UE (?:\S.* )?on \S", "memory_uncorrected", "fatal", "host_memory_uncorrectable"),
    (r"Memory failure: 0x[0-9a-f]+: ", "memory_failure", "suspect", "host_memory_uncorrectable"),
    (rf"{_DRIVERS} {_AT}.*severity=Uncorrected \(Fatal\)", "pcie_fatal", "fatal", "pcie_fatal_error"),
    (r"pcieport \S+ .*DPC: containment event", "pcie_contained", "suspect", "pcie_fatal_error"),
    (rf"mlx5_core {_AT}.*(?:health compromised|poll_health.*[Ff]atal error)", "nic_firmware", "fatal", "nic_failure"),
    (r"mlx5_core \S+ .*Port module event\[error\]", "nic_cable", "suspect", "link_fault"),
    (r"mlx5_\S+ .*Link DOWN", "nic_link_down", "watch", "link_flap"),
    (r"nvme \S+: (?:controller is down|Disabling device after)", "nvme_down", "fatal", "local_disk_failure"),
    (rf"{_DISK}: Remounting filesystem read-only", "disk_read_only", "fatal", "local_disk_failure"),
    (r"thermal thermal_zone\d+: .*critical temperature reached", "overheated", "fatal", "thermal_shutdown"),
)
_SIGNS: Final = tuple((re.compile(pattern), rule, level, cause) for pattern, rule, level, cause in _RULES)
"""From the start of the line, and of a fatal one more than the 15 characters that a process may call itself: its name
stands at the front of what the kernel says of it."""


def signs(lines: Iterable[KernelLine], *, after: int) -> tuple[KernelSign, ...]:
    """What is told after the line with this number, each kind once."""
    found: dict[tuple[str, int | None, str], KernelSign] = {}
    for line in lines:
        if line.number <= after or (sign := sign_of(line)) is None:
            continue
        key = (sign.rule, sign.xid, sign.pci)
        if key in found:
            sign = msgspec.structs.replace(sign, count=found[key].count + 1)
        elif len(found) >= _MOST:
            continue
        found[key] = sign
    return tuple(found.values())


def sign_of(line: KernelLine) -> KernelSign | None:
    """What one line means; None: nothing."""
    if match := XID.match(line.text):
        pci, xid, rest = match[1].lower(), int(match[2]), match[3]
        level, cause = _BY_XID.get(xid, ("watch", ""))
        if xid in _NVLINK_XIDS and re.search(r"\bFatal\b", rest):
            level = "fatal"
        return KernelSign(rule=f"xid_{xid}", level=level, cause=cause, xid=xid, pci=pci, number=line.number, text=_TOLD)
    if _OOM.match(line.text):
        text = "a process was killed for want of memory"
        return KernelSign(rule="oom_kill", level="watch", cause="host_oom", number=line.number, text=text)
    if _OF_PROCESS.match(line.text):
        return None
    for pattern, rule, level, cause in _SIGNS:
        if pattern.match(line.text):
            return KernelSign(rule=rule, level=level, cause=cause, number=line.number, text=_TOLD)
    return None
