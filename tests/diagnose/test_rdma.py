"""Ports of RDMA adapters: what went down, what a cable spoils, what gets lost; only what rose is evidence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.evidence.rdma import find
from supervisor.diagnose.findings import Finding
from supervisor.model.ids import NodeName
from tests.diagnose.test_nvml import JUNK


def _found(*nodes: dict[str, Any]) -> list[Finding]:
    return list(find({NodeName(f"n{number}"): told for number, told in enumerate(nodes)}))


def _port(state: str = "4: ACTIVE", **counters: Any) -> dict[str, Any]:
    return {"mlx5_0": {"1": {"state": state, "counters": counters}}}


def test_quiet_ports_say_nothing() -> None:
    """A port that is up and counts nothing, or little, is healthy."""
    assert _found(_port(), _port(symbol_error=[90, 95], link_downed=[3, 3], out_of_sequence=[10, 500])) == []


@pytest.mark.parametrize(
    "rise", [[2, 3], {"delta": 1}, {"before": 2, "after": 3}, {"start": 0, "end": 1}, {"baseline": 5, "now": 6}]
)
def test_a_rise_however_it_is_written(rise: Any) -> None:
    """Pairs, differences and named samples are rises since the job's start."""
    [found] = _found(_port(link_downed=rise))
    assert (found.cause, found.node, found.role) == ("link_flap", "n0", "root")
    assert found.weight > 0.8
    assert "mlx5_0 1 counters went down 1 times" in found.text


def test_a_total_is_a_weaker_sign() -> None:
    """A counter that may have counted for months proves little."""
    [total], [rise] = _found(_port(link_downed=1)), _found(_port(link_downed_delta=1))
    assert total.weight < rise.weight - 0.2


def test_a_port_that_is_down() -> None:
    """Down now is a fault, not a flap, however often it went down."""
    found = _found(_port("1: DOWN", link_downed=[0, 1]), {"mlx5_1": {"port_state": "DOWN", "link_downed": [0, 1]}})
    assert {one.cause for one in found if one.node == "n1"} == {"link_fault"}


def test_a_bad_cable() -> None:
    """Symbol errors by the thousand name the counter and its rise."""
    [found] = _found(_port(symbol_error=[100, 90_100]))
    assert found.cause == "link_fault"
    assert "symbol_error 90000" in found.text


def test_loss_on_many_nodes_is_the_fabric() -> None:
    """On one node it is that node's link, on three the fabric, and then no single node is blamed."""
    loss, quiet = _port(out_of_sequence=[0, 5000]), _port(out_of_sequence=[0, 2])
    [one] = _found(loss, quiet, quiet)
    assert (one.cause, one.node) == ("link_fault", "n0")
    [many] = _found(loss, loss, loss, quiet)
    assert (many.cause, many.node, many.names) == ("fabric_packet_loss", None, "n0,n1,n2")


def test_a_counter_that_fell() -> None:
    """A reset counter is no negative error."""
    assert _found(_port(symbol_error=[9000, 3], link_downed={"before": 4, "after": 0})) == []


@pytest.mark.parametrize("count", [10**400, [0, 10**400], {"before": 0, "after": 10**400}, {"delta": 1e300}, True, [1]])
def test_counts_that_cannot_be(count: Any) -> None:
    """A counter beyond all sense is no evidence, and no error."""
    assert _found(_port(link_downed=count)) == []


_COUNTER = st.sampled_from(
    ["link_downed", "symbol_error", "out_of_sequence", "link_downed_delta", "state", "port_state"]
)
_TOLD = st.recursive(
    st.dictionaries(_COUNTER, JUNK | st.lists(JUNK, max_size=3), max_size=4),
    lambda inner: st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


@given(st.lists(_TOLD, max_size=4))
def test_wrong_types_anywhere(nodes: list[dict[str, Any]]) -> None:
    """Whatever stands in place of a counter: no error."""
    assert all(0 < one.weight < 1 for one in _found(*nodes))


def test_a_port_with_another_address() -> None:
    """The subnet manager gave the ports new addresses under the job: no node is to blame for that."""
    port = {"mlx5_0": {"state": "ACTIVE", "lid": 44, "lid_at_start": 12, "sm_lid": 1, "sm_lid_at_start": 1}}
    [found] = _found(port, {"mlx5_0": {"state": "ACTIVE", "lid": 13, "lid_at_start": 13}})
    assert (found.cause, found.scope, found.names) == ("fabric_reconfigured", "job", "n0")


def test_discards_on_many() -> None:
    """Switches that drop are seen by all; two of two nodes are all."""
    [found] = _found(*(_port(rx_prio3_discards={"delta": 81_000}) for _ in range(2)))
    assert (found.cause, found.names) == ("fabric_packet_loss", "n0,n1")


def test_an_adapter_that_is_gone() -> None:
    """Why a device could not be read says that it failed; that a reader may not look says nothing."""
    [found] = _found({"mlx5_3": {"error": "No such device"}}, {"mlx5_0": {"error": "permission denied"}})
    assert (found.cause, found.node) == ("nic_failure", "n0")
