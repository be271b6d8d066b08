"""What has changed on a node's GPUs between two looks. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from supervisor.telemetry.gpu.state import GpuLink, GpuState, NodeGpus

_COUNTERS: Final = {
    "ecc_unc_dram": "ecc_unc_dram_volatile",
    "ecc_unc_sram": "ecc_unc_sram_volatile",
    "ecc_unc": "ecc_unc_volatile",
    "ecc_corr_dram": "ecc_corr_dram_volatile",
    "remapped_rows": "remapped_rows_uncorrectable",
    "pcie_replay": "pcie_replay",
}
_LINK_COUNTERS: Final = ("replay", "recovery", "recovery_failed", "crc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """By UUID: what a look at two states beside each other shows."""

    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    links_down: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    narrower: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """PCIe lanes before and now."""


def growth(before: NodeGpus | None, now: NodeGpus | None, *, minors: tuple[int, ...] | None = None) -> Growth:
    """From before to now. With `minors` the counters of these devices alone: the others belong to other jobs.

    A counter that is smaller than before began anew, and has grown by all that it is. One that was not read, then or
    now, tells nothing.
    """
    if before is None or now is None:
        return Growth()
    was = {gpu.uuid: gpu for gpu in before.gpus.values() if gpu.uuid}
    pairs = [(was[gpu.uuid], gpu) for gpu in now.gpus.values() if gpu.uuid in was]
    there = {gpu.uuid for gpu in now.gpus.values()}
    counted = [(old, new) for old, new in pairs if minors is None or new.minor in minors]
    return Growth(
        counters={new.uuid: grown for old, new in counted if (grown := dict(_grown(old, new)))},
        lost=tuple(sorted(uuid for uuid in was if uuid not in there)),
        links_down={new.uuid: down for old, new in pairs if (down := _links_down(old, new))},
        narrower={
            new.uuid: (old.pcie_width, new.pcie_width)
            for old, new in pairs
            if old.pcie_width is not None and new.pcie_width is not None and new.pcie_width < old.pcie_width
        },
    )


def only_missing(grown: Growth) -> Growth:
    """What should be there and is not."""
    return Growth(lost=grown.lost, links_down=grown.links_down, narrower=grown.narrower)


def only_counters(grown: Growth) -> Growth:
    """What was counted."""
    return Growth(counters=grown.counters)


def _grown(old: GpuState, new: GpuState) -> Iterator[tuple[str, int]]:
    for name, attribute in _COUNTERS.items():
        if by := _difference(getattr(old, attribute), getattr(new, attribute)):
            yield name, by
    for name in _LINK_COUNTERS:
        by = sum(
            _difference(getattr(old.nvlink.get(number, GpuLink()), name), getattr(link, name))
            for number, link in new.nvlink.items()
        )
        if by:
            yield f"nvlink_{name}", by


def _difference(old: int | None, new: int | None) -> int:
    if old is None or new is None:
        return 0
    return new - old if new >= old else new


def _links_down(old: GpuState, new: GpuState) -> tuple[str, ...]:
    return tuple(
        number for number, link in new.nvlink.items() if link.active is False and _was_active(old.nvlink.get(number))
    )


def _was_active(link: GpuLink | None) -> bool:
    return link is not None and link.active is True
