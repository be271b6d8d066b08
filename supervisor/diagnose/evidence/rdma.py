"""What the RDMA ports of the nodes counted: links that went down, errors of a cable, packets lost on many.

Counters count for months: only a rise since the job's start is evidence. Where only totals are known, a port counts
that stands out among the others. Which counters mean what: the kernel's ABI text for InfiniBand and the mlx5 driver.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from supervisor.diagnose.findings import Finding
from supervisor.model.ids import NodeName

_DOWN: Final = ("link_downed",)
_CABLE: Final = (
    "symbol_error",
    "link_error_recovery",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "rx_crc_errors",
    "rx_icrc_encapsulated",
)
_LOSS: Final = (
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "req_transport_retries_exceeded",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "implied_nak_seq_err",
)
_MOVED: Final = frozenset(
    {"port_xmit_data", "port_rcv_data", "xmit_bytes", "rcv_bytes", "tx_bytes", "rx_bytes", "xmit_data", "rcv_data"}
)
_ADDRESSES: Final = ("lid", "sm_lid", "gid")
_DISCARDS: Final = "_discards"
_WINDOW: Final = ("interval", "window", "period", "since_job")
"""Keys beside counters that tell of a span: then they are counts of that span."""
_STALE: Final = ("before", "start", "baseline", "first")
_FRESH: Final = ("after", "end", "now", "last", "current")
_DEAD: Final = (
    "no such device",
    "removed",
    "fatal",
    "firmware",
    "health",
    "not present",
    "disappeared",
    "input/output error",
)
_ERROR_CHARS: Final = 200
_CABLE_LEAST: Final = 100
_LOSS_LEAST: Final = 1000
_MANY: Final = 3
_DEEP: Final = 6
_MOST: Final = 2**64


@dataclass(frozen=True, slots=True)
class Port:
    """One port's counters."""

    name: str
    rises: dict[str, float]
    is_rise: bool
    """They are differences since the job's start, not totals."""
    state: str = ""
    error: str = ""
    """Why nothing could be read of it, where its device is gone."""


def find(rdma: Mapping[NodeName, Mapping[str, Any]]) -> Iterator[Finding]:
    """Findings on all nodes."""
    ports = {node: list(_ports("", told)) for node, told in rdma.items()}
    yield from _moved(rdma)
    lossy = [node for node, each in ports.items() if any(_sum(one, _LOSS) >= _LOSS_LEAST for one in each)]
    for node, each in ports.items():
        for port in each:
            yield from _of_port(node, port)
    yield from _stalled(rdma)
    if len(lossy) > 1 and 2 * len(lossy) >= min(len(ports), 2 * _MANY):
        text = f"packets are lost or come out of order on {len(lossy)} nodes"
        yield _finding(lossy[0], "fabric_packet_loss", 0.7, text, names=",".join(lossy))
    elif len(lossy) == 1 and len(ports) > 1:
        yield _finding(lossy[0], "link_fault", 0.5, "packets are lost or out of order on this node only")


def _moved(rdma: Mapping[NodeName, Mapping[str, Any]]) -> Iterator[Finding]:
    """Ports that had another address, or another subnet manager, when the job began."""
    changed = [node for node, told in rdma.items() if _has_moved(told)]
    if changed:
        text = f"address or subnet manager of a port changed under the job on {len(changed)} nodes"
        yield _finding(changed[0], "fabric_reconfigured", 0.82, text, names=",".join(changed))


def _has_moved(told: Any, depth: int = 0) -> bool:  # whatever shape the reader of this site writes
    if not isinstance(told, dict) or depth > _DEEP:
        return False
    pairs = [(told[name], told.get(f"{name}_at_start")) for name in _ADDRESSES if name in told]
    return any(old is not None and new != old for new, old in pairs) or any(
        _has_moved(one, depth + 1) for one in told.values()
    )


def _stalled(rdma: Mapping[NodeName, Mapping[str, Any]]) -> Iterator[Finding]:
    """A node that moved nothing while others did, though its port is active."""
    moved = {node: _traffic(told) for node, told in rdma.items()}
    still = [node for node, each in moved.items() if each == 0]
    if len(still) == 1 and sum(1 for each in moved.values() if each) > 0:
        yield _finding(still[0], "rdma_stall", 0.82, "its adapters moved nothing while those of other nodes did")


def _traffic(told: Any, depth: int = 0) -> float | None:  # whatever shape the reader of this site writes
    """Bytes moved by all ports; None where nothing is told."""
    if not isinstance(told, dict) or depth > _DEEP:
        return None
    parts = [
        _rise(value, is_delta=True)[0] if str(key).removesuffix("_delta") in _MOVED else _traffic(value, depth + 1)
        for key, value in told.items()
    ]
    known = [one for one in parts if one is not None]
    return sum(known) if known else None


def _of_port(node: NodeName, port: Port) -> Iterator[Finding]:
    sure = 0.0 if port.is_rise else 0.3
    if port.error:
        yield _finding(node, "nic_failure", 0.86, f"{port.name}: {port.error}")
    is_up = not port.state or "ACTIVE" in port.state.upper() or "UP" in port.state.upper()
    if not is_up:
        yield _finding(node, "link_fault", 0.86, f"{port.name} is {port.state}")
    if down := _sum(port, _DOWN):
        what = "link_flap" if is_up else "link_fault"
        yield _finding(node, what, 0.84 - sure, f"{port.name} went down {down:g} times")
    if (errors := _sum(port, _CABLE)) >= _CABLE_LEAST:
        names = ", ".join(f"{name} {value:g}" for name, value in port.rises.items() if name in _CABLE and value)
        yield _finding(node, "link_fault", min(0.6 + errors / 1e6, 0.75) - sure, f"{port.name}: {names}")


def _ports(
    name: str, told: Any, depth: int = 0, *, is_window: bool = False
) -> Iterator[Port]:  # whatever shape the reader of this site writes
    """Every object that holds counters, however deep it lies."""
    if not isinstance(told, dict) or depth > _DEEP:
        return
    rises: dict[str, float] = {}
    is_rise = True
    is_window = is_window or any(str(key).startswith(_WINDOW) for key in told)
    for key, value in told.items():
        counter = str(key).removesuffix("_delta").removeprefix("delta_")
        if counter in (*_DOWN, *_CABLE, *_LOSS) or counter.endswith(_DISCARDS):
            rise, known = _rise(value, is_delta=is_window or counter != str(key) or "delta" in name)
            rises[counter] = rise
            is_rise = is_rise and known
        else:
            yield from _ports(f"{name} {key}".strip(), value, depth + 1, is_window=is_window)
    state = told.get("state") or told.get("port_state") or told.get("link_state") or ""
    error = str(told.get("error") or "")
    error = error if any(word in error.lower() for word in _DEAD) else ""
    if rises or error or (state and isinstance(state, str)):
        yield Port(name or "port", rises, is_rise, str(state), error[:_ERROR_CHARS])


def _rise(value: Any, *, is_delta: bool) -> tuple[float, bool]:  # a number, a pair, or an object
    """How much the counter rose, and whether that is known to be a rise."""
    if isinstance(value, dict):
        if _is_count(value.get("delta")):
            return float(value["delta"]), True
        old = next((value[one] for one in _STALE if _is_count(value.get(one))), None)
        new = next((value[one] for one in _FRESH if _is_count(value.get(one))), None)
        return (float(new - old), True) if old is not None and new is not None else (0.0, True)
    if isinstance(value, list) and len(value) > 1 and all(_is_count(one) for one in value):
        return float(value[-1] - value[0]), True
    return (float(value), is_delta) if _is_count(value) else (0.0, True)


def _is_count(value: Any) -> bool:  # whatever stands there
    """No counter of an adapter is wider than 64 bits."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST


def _sum(port: Port, names: tuple[str, ...]) -> float:
    is_loss = names is _LOSS
    return sum(
        max(0.0, value) for name, value in port.rises.items() if name in names or (is_loss and name.endswith(_DISCARDS))
    )


def _finding(node: NodeName, cause: str, weight: float, text: str, names: str = "") -> Finding:
    return Finding(
        signature=f"rdma_{cause}",
        role="root",
        cause=cause,
        weight=max(weight, 0.1),
        scope="job" if names else "own",
        source=f"rdma/{node}.json",
        text=text,
        node=None if names else node,
        names=names,
    )
