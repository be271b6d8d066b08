"""What the kernel's lines mean."""

import pytest

from supervisor.diagnose.taxonomy import causes
from supervisor.hooks import judge_gpus, kernel_signs
from supervisor.hooks.kernel_signs import sign_of, signs
from supervisor.telemetry.kernel_log import KernelLine


def _line(text: str, number: int = 1) -> KernelLine:
    return KernelLine(number, text)


@pytest.mark.parametrize(
    ("text", "rule", "level"),
    [
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", "xid_79", "fatal"),
        ("NVRM: Xid (PCI:0000:3b:00): 13, pid=1, Graphics Exception", "xid_13", "watch"),
        ("NVRM: Xid (PCI:0000:3b:00): 63, pid=1, Row Remapper", "xid_63", "watch"),
        ("NVRM: Xid (PCI:0000:3b:00): 94, pid=1, Contained", "xid_94", "suspect"),
        ("NVRM: Xid (PCI:0000:3b:00): 109, pid=1, CTX SWITCH TIMEOUT", "xid_109", "suspect"),
        ("NVRM: Xid (PCI:0000:3b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 03", "xid_149", "fatal"),
        ("NVRM: Xid (PCI:0000:3b:00): 145, RLW_REMAP Nonfatal XC1 i0 Link 03", "xid_145", "suspect"),
        ("NVRM: Xid (PCI:0000:3b:00): 9999, something new", "xid_9999", "watch"),
        ("NVRM: GPU at PCI:0000:3b:00: fallen off the bus and is not responding", "gpu_off_bus", "fatal"),
        ("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", "gpu_off_bus", "fatal"),
        ("NVRM: The NVIDIA GPU 0000:3b:00.0 installed in this system has fallen off the bus", "gpu_off_bus", "fatal"),
        ("pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x", "pcie_fatal", "fatal"),
        ("EXT4-fs (nvme0n1p2): Remounting filesystem read-only", "disk_read_only", "fatal"),
        ("thermal thermal_zone0: critical temperature reached (105 C), shutting down", "overheated", "fatal"),
        ("EDAC MC0: 1 UE on mc#0csrow#1channel#0 (csrow:1 channel:0 page:0x0)", "memory_uncorrected", "fatal"),
        ("nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "nvswitch_fatal", "fatal"),
        ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0", "memory_uncorrected", "fatal"),
        ("nvme nvme0: controller is down; will reset: CSTS=0xffffffff", "nvme_down", "fatal"),
        ("mlx5_core 0000:12:00.0: device's health compromised - reached miss count", "nic_firmware", "fatal"),
        ("mlx5_3: Port: 1 Link DOWN", "nic_link_down", "watch"),
        ("Memory cgroup out of memory: Killed process 31 (python3) total-vm:1kB", "oom_kill", "watch"),
    ],
)
def test_a_line_has_its_rule_and_level(text: str, rule: str, level: str) -> None:
    """By the published tables; the milder one where they disagree."""
    sign = sign_of(_line(text))
    assert sign is not None
    assert (sign.rule, sign.level) == (rule, level)
    assert rule.partition("_")[0] not in sign.text  # which stands beside it, in a drain's reason


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 12028, Non-fatal, Link 30",
        "EDAC MC0: 1 CE memory read error",
        "pcieport 0000:00:01.0: AER: Corrected error received",
        "NVRM: Xid (PCI:[31]: segfault at 0 ip 0 sp 0 error 4 in x",
        "x: NVRM: Xid (PCI:0000:3b:00): 79, made up",
        "python3[7]: segfault at 0 severity=Uncorrected (Fatal)",
    ],
)
def test_noise_and_names_that_users_choose_mean_nothing(text: str) -> None:
    """A process may be called like a message, but it cannot write the front of a line."""
    assert sign_of(_line(text)) is None


def test_only_what_came_after_the_mark_counts_and_repeats_are_counted() -> None:
    """One sign for each kind and device."""
    xid = "NVRM: Xid (PCI:0000:3b:00): 31, pid=1"
    told = [_line(xid, number) for number in range(1, 6)] + [_line(xid.replace("3b", "4c"), 6)]
    found = signs(told, after=3)
    assert [(sign.pci, sign.count, sign.number) for sign in found] == [("0000:3b:00", 2, 5), ("0000:4c:00", 1, 6)]


@pytest.mark.parametrize(
    "text",
    [
        "EDAC MC0: 1 UE[4242]: segfault at 0 ip 0",
        "EDAC MC0: 1 UE invoked oom-killer: gfp_mask=0x1",
        "NVRM: x[4242]: segfault at 0 in fallen off the bus[1+2]",
        "XFS[4242]: segfault at 0 in Remounting filesystem read-only[4+1]",
        "NVRM: x(4242): fallen off the bus",
        "EDAC MC0: 1 UE: page allocation failure: order:0",
        # What the kernel may say in forms that nobody has listed.
        "EDAC MC0: 1 UE calls setitimer() with new_value NULL pointer. Misfeature support will be removed",
        "EDAC MC0: 1 UE/4242: potentially unexpected fatal signal 11.",
        "XFS: a: attempt to access beyond end of device Remounting filesystem read-only",
        "thermal x/7: potentially unexpected critical temperature reached",
        "nvidia x/7: severity=Uncorrected (Fatal)",
        "mlx5_core x/7: health compromised",
        "NVRM: GPU x/7: fallen off the bus",
    ],
)
def test_a_process_that_calls_itself_like_a_fault_is_none(text: str) -> None:
    """The kernel puts the name of a process in front of what it says of it; any user may choose one."""
    assert sign_of(_line(text)) is None


def test_a_flood_of_kinds_is_bounded() -> None:
    """Whatever the driver says."""
    told = [_line(f"NVRM: Xid (PCI:{number:04x}:3b:00): 31", number) for number in range(1000)]
    assert len(signs(told, after=-1)) == 200


def test_every_cause_is_one_of_the_taxonomy() -> None:
    """Histograms group by it."""
    used = {cause for _, cause in kernel_signs._BY_XID.values()} | {rule[3] for rule in kernel_signs._RULES}
    used |= {cause for _, cause in judge_gpus._BY_COUNTER.values()}
    assert used <= set(causes())
