"""This fleet beside the training of Llama 3 405B: 54 days on 16,384 H100 in 2,048 nodes (arXiv 2407.21783, table 5).

419 unexpected interruptions; the 47 planned ones of the table are left out, as ours are. The percentage printed there
beside 148 does not fit 148 of 419; shares here are of the counts.
"""

from typing import Final

from supervisor.report.fleet.garwood import share_bounds
from supervisor.report.fleet.model import Interval, Profile, ProfileRow
from supervisor.report.fleet.tally import Tally

NAME: Final = "Llama 3 405B, 54 days, 16,384 H100"
_NODE_DAYS: Final = 2_048 * 54
TABLE: Final[tuple[tuple[str, int, frozenset[str]], ...]] = (
    ("faulty GPU", 148, frozenset({"gpu_lost", "gpu_unknown_failure", "gpu_repeat_fault", "nvlink_fault"})),
    ("GPU HBM memory", 72, frozenset({"gpu_hbm_uncorrectable", "gpu_ecc_uncorrectable", "gpu_row_remap_failure"})),
    ("network switch or cable", 35, frozenset({"<network>", "nvswitch_fault"})),
    ("unplanned host maintenance", 32, frozenset({"node_unreachable", "host_degraded"})),
    ("GPU SRAM memory", 19, frozenset({"gpu_sram_uncorrectable"})),
    ("GPU system processor", 17, frozenset({"gpu_firmware_fault"})),
    ("NIC", 7, frozenset({"nic_failure"})),
    ("collective watchdog, unknown", 7, frozenset({"<unknown>", "nccl_timeout_unattributed"})),
    ("silent data corruption", 6, frozenset({"sdc_suspected"})),
    ("GPU thermal or sensor", 6, frozenset({"gpu_degraded"})),
    ("SSD", 3, frozenset({"local_disk_failure"})),
    ("power supply", 3, frozenset({"node_power_loss"})),
    ("chassis", 2, frozenset({"thermal_shutdown"})),
    ("I/O expansion board", 2, frozenset({"pcie_fatal_error"})),
    ("CPU", 2, frozenset({"host_machine_check"})),
    ("system memory", 2, frozenset({"host_memory_uncorrectable"})),
    ("dependency", 2, frozenset({"import_error", "library_version_incompat", "driver_library_mismatch"})),
    ("software bug", 54, frozenset({"<software>"})),
    ("data", 0, frozenset({"<data>"})),
    ("other hardware", 0, frozenset({"<hardware>"})),
)
"""Row, how often, our causes of it; `<class>`: whatever else the class has."""
PUBLISHED: Final = sum(times for _, times, _ in TABLE)


def profile(tally: Tally) -> Profile:
    """Each published row beside ours, with where our share may really lie."""
    ours: dict[str, int] = {}
    for (cls, _), found in tally.sums.items():
        for cause, cell in found.causes.items():
            name = row_of(cause, cls)
            ours[name] = ours.get(name, 0) + int(cell[0])
    total = sum(ours.values())
    return Profile(
        name=NAME,
        published=PUBLISHED,
        published_per_1000_node_d=PUBLISHED / _NODE_DAYS * 1000,
        rows=tuple(_row(name, times, ours.get(name, 0), total) for name, times, _ in TABLE),
    )


def row_of(cause: str, cls: str) -> str:
    """The row that a cause belongs to: its own, else what its class has."""
    named = (name for name, _, causes in TABLE if cause in causes)
    return next(named, None) or next(name for name, _, causes in TABLE if f"<{cls}>" in causes)


def _row(name: str, times: int, ours: int, total: int) -> ProfileRow:
    low, high = share_bounds(ours, total)
    published = times / PUBLISHED
    return ProfileRow(
        name=name,
        published=times,
        published_share=published,
        ours=ours,
        share=Interval(estimate=ours / total if total else None, low=low, high=high),
        is_different=bool(total) and not low <= published <= high,
    )
