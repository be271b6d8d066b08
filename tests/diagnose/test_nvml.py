"""What GPUs say of themselves: lost devices, memory by its place, links, throttling, the fabric."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.evidence.nvml import find
from supervisor.diagnose.findings import Finding
from supervisor.model.ids import NodeName

_GOOD: dict[str, Any] = {
    "pci": "00000000:1B:00.0",
    "ecc_corr_dram_volatile": 3,
    "ecc_unc_volatile": 0,
    "remap_failure": False,
    "nvlink": {"0": {"replay": 2, "recovery": 0, "crc": 4}},
    "sm_clock_mhz": 1980,
    "util_pct": 100,
    "clocks_event_reasons": ["GPU_IDLE", "SW_POWER_CAP"],
    "recovery_action": "None",
}


def _found(*nodes: dict[str, Any]) -> list[Finding]:
    return list(find({NodeName(f"n{number}"): told for number, told in enumerate(nodes)}))


def _node(**gpu: Any) -> dict[str, Any]:
    """Two GPUs, of which the second is like this."""
    return {"gpus": {"0": _GOOD, "1": _GOOD | gpu}, "device_count": 2, "expected_device_count": 2}


def test_a_healthy_node_says_nothing() -> None:
    """Corrected errors, link replays and a power cap are daily life."""
    assert _found(_node(), _node()) == []
    assert _found({}, {"fabric_state": "Completed", "fabric_status": "Success"}) == []


@pytest.mark.parametrize(
    ("gpu", "cause"),
    [
        ({"error": "GPU is lost"}, "gpu_lost"),
        ({"error": "Unable to determine the device handle: Unknown Error"}, "gpu_lost"),
        ({"remap_failure": True}, "gpu_row_remap_failure"),
        ({"ecc_unc_sram_volatile": 1, "ecc_unc_volatile": 1}, "gpu_sram_uncorrectable"),
        ({"ecc_unc_dram_volatile": 2, "ecc_unc_volatile": 2}, "gpu_hbm_uncorrectable"),
        ({"ecc_unc_volatile": 2}, "gpu_ecc_uncorrectable"),
        ({"nvlink": {"4": {"recovery": 1}}}, "nvlink_fault"),
        ({"nvlink": {"4": {"crc": 5000}}}, "nvlink_fault"),
        ({"recovery_action": "GPU_RESET"}, "gpu_unknown_failure"),
        ({"clocks_event_reasons": ["HW_THERMAL_SLOWDOWN"]}, "gpu_degraded"),
    ],
)
def test_one_device(gpu: dict[str, Any], cause: str) -> None:
    """The finding names node and GPU."""
    [found] = _found(_node(), _node(**gpu))
    assert (found.cause, found.node, found.gpu, found.role) == (cause, "n1", 1, "root")
    assert found.source == "nvml/n1.json"


def test_a_slow_clock_among_others() -> None:
    """A busy GPU far below the others' clock is slow; an idle one is not."""
    [found] = _found(_node(), _node(sm_clock_mhz=600))
    assert (found.cause, found.gpu) == ("gpu_degraded", 1)
    assert _found(_node(), _node(sm_clock_mhz=210, util_pct=0)) == []


def test_throttling_everywhere_is_the_room() -> None:
    """A slowdown on every node is a weaker sign than one on a single node."""
    hot = _node(clocks_event_reasons=["HW_THERMAL_SLOWDOWN"])
    assert max(one.weight for one in _found(hot, hot)) < min(one.weight for one in _found(hot, _node()))


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ({"device_count": 7, "expected_device_count": 8}, "gpu_lost"),
        ({"error": "Driver/library version mismatch"}, "driver_library_mismatch"),
        ({"error": "GPU is lost"}, "gpu_lost"),
        ({"fabric_state": "In Progress"}, "nvlink_fabric_unready"),
        ({"fabric_state": "Completed", "fabric_status": "Insufficient resources"}, "nvlink_fabric_unready"),
    ],
)
def test_a_node(told: dict[str, Any], cause: str) -> None:
    """What is said of a node as a whole names no GPU."""
    [found] = _found(told)
    assert (found.cause, found.node, found.gpu) == (cause, "n0", None)


@pytest.mark.parametrize(
    "told",
    [
        {"gpus": {"9" * 5000: {"error": "GPU is lost"}}},
        {"gpus": {"\N{SUPERSCRIPT TWO}": {"error": "GPU is lost"}}},
        {"gpus": [{"sm_clock_mhz": 10**400, "util_pct": 100}, *[{"sm_clock_mhz": 10**400, "util_pct": 99}] * 3]},
        {"gpus": [{"sm_clock_mhz": 1e308, "util_pct": 100}] * 4},
        {"gpus": [{"ecc_unc_volatile": float("inf")}]},
    ],
)
def test_numbers_that_cannot_be(told: dict[str, Any]) -> None:
    """An index or a counter beyond all sense is no evidence, and no error."""
    assert _found(told) == []


_NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -1, 2**64])
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_INDEX = st.sampled_from(["0", "1", "\N{SUPERSCRIPT TWO}", "9" * 5000, "-1", "x", ""])
_GPU = st.dictionaries(st.sampled_from(sorted(_GOOD)), JUNK, max_size=5).map(lambda odd: _GOOD | odd) | JUNK


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "gpus": st.dictionaries(_INDEX, _GPU, max_size=4) | st.lists(_GPU, max_size=3) | JUNK,
                "error": JUNK,
                "device_count": JUNK,
                "expected_device_count": JUNK,
                "fabric_state": JUNK,
                "fabric_status": JUNK,
            },
        ),
        max_size=3,
    )
)
def test_wrong_types_anywhere(nodes: list[dict[str, Any]]) -> None:
    """Whatever stands in place of a number or a name: no error."""
    assert all(0 < one.weight < 1 for one in _found(*nodes))


def test_a_link_that_is_down() -> None:
    """NVML says so of one link: the GPU's neighbour is out of reach."""
    [found] = _found(_node(nvlink={"0": {"state": "Active"}, "7": {"state": "Inactive"}}))
    assert (found.cause, found.gpu) == ("nvlink_fault", 1)
    assert "7" in found.text
