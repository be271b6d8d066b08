"""Rules about GPUs, from their state and from what has changed."""

from typing import Any

import msgspec
import pytest

from supervisor.hooks.growth import Growth, growth
from supervisor.hooks.judge_gpus import of_growth, of_state
from supervisor.hooks.settings import HookSettings
from supervisor.telemetry.gpu.state import GpuLink, NodeGpus
from tests.hooks.facts import gpu, node

_SITE = HookSettings()


def _told(
    now: NodeGpus | None, before: NodeGpus | None = None, settings: HookSettings = _SITE
) -> list[tuple[str, str]]:
    return [(each.level, each.rule) for each in of_state(now, before, settings)]


def test_healthy_gpus_break_no_rule() -> None:
    """Nor does a node without any."""
    assert _told(node(gpu(0), gpu(1))) == []
    assert _told(NodeGpus()) == []


@pytest.mark.parametrize(
    ("wrong", "level", "rule"),
    [
        ({"remap_failure": True}, "fatal", "remap_failure"),
        ({"remap_pending": True}, "suspect", "remap_pending"),
        ({"remapped_rows_uncorrectable": 512}, "suspect", "remapped_rows"),
        ({"recovery_action": 1}, "fatal", "recovery_action"),
        ({"recovery_action": 3}, "suspect", "recovery_action"),
        ({"recovery_action": 7}, "fatal", "recovery_action"),
        ({"error": "GPU is lost", "error_code": 15}, "fatal", "gpu_lost"),
        ({"error": "Unknown", "error_code": 999}, "suspect", "nvml_error"),
        ({"temp_margin_c": -2}, "suspect", "gpu_hot"),
        ({"temp_c": 92, "temp_limit_c": 92}, "suspect", "gpu_hot"),
        ({"hbm_temp_c": 96, "hbm_temp_limit_c": 95}, "suspect", "hbm_hot"),
        ({"clocks_event_reasons": ("HW_SLOWDOWN", "HW_THERMAL")}, "suspect", "throttled"),
        ({"fabric_state": 1}, "fatal", "fabric_not_started"),
        ({"fabric_state": 3, "fabric_status": 999}, "fatal", "fabric_failed"),
    ],
)
def test_a_state_has_its_rule(wrong: dict[str, Any], level: str, rule: str) -> None:
    """With the level of the published tables."""
    assert _told(node(gpu(0), gpu(1, **wrong))) == [(level, rule)]


@pytest.mark.parametrize(
    "usual",
    [
        {"temp_margin_c": 0, "temp_c": 95},
        {"temp_c": 80, "temp_limit_c": 92},
        {"temp_limit_c": 92},
        {"hbm_temp_c": 90},
        {"clocks_event_reasons": ("HW_SLOWDOWN", "SW_THERMAL")},
    ],
)
def test_warmth_is_no_fault(usual: dict[str, Any]) -> None:
    """Below the device's own limits, or where it tells none."""
    assert _told(node(gpu(0, **usual))) == []


@pytest.mark.parametrize(
    "unread",
    ["recovery_action", "remap_failure", "remap_pending", "remapped_rows_uncorrectable", "ecc_unc_dram_volatile"],
)
def test_what_could_not_be_read_breaks_no_rule(unread: str) -> None:
    """None is not 0, and not a fault."""
    assert _told(node(gpu(0, **{unread: None}))) == []
    before, now = node(gpu(0)), node(gpu(0, **{unread: None}))
    assert growth(before, now) == growth(now, node(gpu(0))) == Growth()


def test_fewer_gpus_than_before_are_missed() -> None:
    """Or than the site says there are, which is what counts then."""
    assert _told(node(gpu(0)), node(gpu(0), gpu(1))) == [("fatal", "gpu_missing")]
    assert _told(node(gpu(0)), None, HookSettings(expected_gpus=8)) == [("fatal", "gpu_missing")]
    assert _told(node(gpu(0)), node(gpu(0), gpu(1)), HookSettings(expected_gpus=1)) == []


def test_a_gpu_without_a_name_has_the_one_it_had() -> None:
    """A lost device tells none any more."""
    (found,) = of_state(node(gpu(0, uuid="", error="lost", error_code=15)), node(gpu(0)), _SITE)
    assert found.gpu == "GPU-0"


def test_a_driver_that_does_not_fit_is_fatal() -> None:
    """Every job would fail."""
    assert _told(NodeGpus(error="Driver/library version mismatch", error_code=18)) == [("fatal", "driver_mismatch")]


def test_a_library_without_a_driver_is_usual_where_no_gpu_was_ever_seen() -> None:
    """One image serves many kinds of nodes; where there were GPUs it is a fault."""
    gone = NodeGpus(error="Driver Not Loaded", error_code=9)
    assert _told(gone) == []
    assert _told(NodeGpus()) == []
    assert _told(gone, node(gpu(0))) == _told(NodeGpus(), node(gpu(0))) == [("fatal", "driver_gone")]


def test_gpus_that_could_not_be_read_are_not_gone() -> None:
    """A driver that hangs tells nothing about them."""
    assert _told(None, node(gpu(0))) == []


def test_counters_grow_by_their_difference() -> None:
    """By UUID; corrected errors are on record and break no rule."""
    before = node(gpu(0, ecc_unc_dram_volatile=1, ecc_corr_dram_volatile=5), gpu(1))
    now = node(gpu(0, ecc_unc_dram_volatile=3, ecc_corr_dram_volatile=9), gpu(1))
    grown = growth(before, now)
    assert grown.counters == {"GPU-0": {"ecc_unc_dram": 2, "ecc_corr_dram": 4}}
    assert [(each.level, each.rule, each.gpu) for each in of_growth(grown, _SITE)] == [
        ("suspect", "ecc_unc_dram", "GPU-0")
    ]


def test_a_counter_that_began_anew_has_grown_by_all_that_it_is() -> None:
    """The driver was loaded again in between."""
    assert growth(node(gpu(0, pcie_replay=50)), node(gpu(0, pcie_replay=2))).counters == {"GPU-0": {"pcie_replay": 2}}


def test_a_gpu_is_known_by_its_uuid_and_not_by_its_number() -> None:
    """Numbers shift when one is lost."""
    before = node(gpu(0), gpu(1, ecc_unc_dram_volatile=4))
    now = node(gpu(1, ecc_unc_dram_volatile=4))
    grown = growth(before, now)
    assert (grown.counters, grown.lost) == ({}, ("GPU-0",))


def test_other_jobs_gpus_are_not_counted_but_seen() -> None:
    """Counters of the job's own devices; a lost one is the whole node's affair."""
    before = node(gpu(0), gpu(1), gpu(2))
    now = node(gpu(0, ecc_unc_dram_volatile=1), gpu(1, ecc_unc_dram_volatile=1))
    grown = growth(before, now, minors=(1,))
    assert (list(grown.counters), grown.lost) == (["GPU-1"], ("GPU-2",))


def test_links_and_lanes_are_held_against_before() -> None:
    """A link that was never up is none that went down."""
    up, down = GpuLink(active=True), GpuLink(active=False)
    before = node(gpu(0, nvlink={"0": up, "1": down}))
    now = node(gpu(0, nvlink={"0": down, "1": down}, pcie_width=8))
    assert [(each.level, each.rule) for each in of_growth(growth(before, now), _SITE)] == [
        ("fatal", "nvlink_down"),
        ("fatal", "pcie_width"),
    ]


@pytest.mark.parametrize(
    ("name", "by", "level"),
    [("crc", 3, "watch"), ("crc", 100, "suspect"), ("recovery", 1, "watch"), ("recovery_failed", 1, "fatal")],
)
def test_errors_of_links_are_summed_over_the_links_of_a_gpu(name: str, by: int, level: str) -> None:
    """A few are noise."""
    old, new = (msgspec.convert({name: count}, GpuLink) for count in (1, 1 + by))
    before, now = node(gpu(0, nvlink={"0": old, "1": old})), node(gpu(0, nvlink={"0": new, "1": old}))
    (found,) = of_growth(growth(before, now), _SITE)
    assert (found.level, found.rule) == (level, f"nvlink_{name}")
