"""Nodes: what a lost node's own last words say, and what several lost at once have in common."""

from collections import Counter
from typing import Final

from supervisor.diagnose.findings import Finding, failures
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.shared import shared_by
from supervisor.diagnose.taxonomy import cause
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Class

_LOST: Final = "node_unreachable"
_TOGETHER_S: Final = 120.0
_MOMENT_S: Final = 2.0
"""Ports that fail by themselves do not fail within so short a time."""
_ENVIRONMENT: Final = frozenset(
    {"import_error", "command_not_found", "library_version_incompat", "permission_denied", "file_not_found"}
)
_SURE: Final = 0.8
_SEVERAL: Final = 2
_MANY: Final = 3
_SECTION: Final = 8
"""Lines from the head of such a report to what it is about."""
_CROWD: Final = 4
"""So many nodes do not fail by themselves in one moment."""
_SPREAD: Final = frozenset({"thermal_shutdown", "node_power_loss"})
"""What takes a rack, and not a node."""
_LESS: Final = 0.1
_WHY: Final = frozenset(
    {
        "host_machine_check",
        "host_memory_uncorrectable",
        "thermal_shutdown",
        "node_power_loss",
        "pcie_fatal_error",
        "gpu_lost",
        "local_disk_failure",
        "nic_failure",
    }
)


def lost_nodes_own_words(case: Case) -> None:
    """A lost node is what is seen from outside; what its own kernel said before tells why."""
    lost = case.of(_LOST)
    if not lost:
        return
    nodes = {node for one in lost for node in case.named_nodes(one)}
    own = [one for one in case.roots() if one.cause in _WHY and (not nodes or case.node_of(one) in nodes)]
    if not own and len(nodes) == 1:  # a service processor's own log names no host
        told = [one for one in case.roots() if one.cause in _WHY and one.is_line and case.node_of(one) is None]
        case.change(told, node=next(iter(nodes)))
        own = [one for one in case.roots() if one.cause in _WHY and case.node_of(one) in nodes]
    if own:
        best = max(own, key=lambda one: one.weight)
        is_spread = best.cause in _SPREAD and len({case.node_of(one) for one in own if one.cause == best.cause}) > 1
        if is_spread:  # those that say nothing went with them
            case.change(lost, cause=best.cause, weight=best.weight - _LESS)
        case.change(lambda one: one.role == "root" and one.cause == _LOST, role="echo")
        case.change(lambda one: one is best, weight=max(best.weight, 0.93))


def prolog_names_hardware(case: Case) -> None:
    """A prolog that refused a node whose hardware is known to have failed did its work."""
    for told in case.of("prolog_failed"):
        nodes = set(case.named_nodes(told))
        if any(is_device(one) and (case.node_of(one) in nodes or not nodes) for one in case.roots()):
            case.change(lambda one, told=told: one is told, role="echo")  # type: ignore[misc]


def fatal_section(case: Case) -> None:
    """The firmware's report of a fatal error says some lines below of which part: of PCIe, not of the processor."""
    for told in [one for one in case.known("kernel_ghes_section") if "section_type: PCIe" in one.text]:
        case.change(
            lambda one, told=told: (  # type: ignore[misc]
                one.cause == "host_machine_check"
                and "event severity: fatal" in one.text
                and one.order[0] == told.order[0]
                and 0 < told.order[1] - one.order[1] <= _SECTION
            ),
            cause="pcie_fatal_error",
        )


def rebooted(case: Case) -> None:
    """A node that boots in the middle of the job, after ordinary lines, had lost its power or was reset."""
    firsts = [one.first for one in case.scanned if one.log.kind != "kernel" and one.first]
    starts = [one.seconds for one in firsts if not one.lacks]
    for boot in case.known("kernel_boot"):
        is_first_line = boot.order[1] <= 1
        is_during = bool(starts) and boot.time is not None and boot.time > min(starts)
        own = [one for one in case.roots() if one.node == boot.node and is_device(one) and one.weight >= _SURE]
        if is_during and not is_first_line and not own:
            case.change(lambda one, boot=boot: one is boot, role="root", cause="node_power_loss", weight=0.86)  # type: ignore[misc]


def behind_one_port(case: Case) -> None:
    """A contained PCIe port takes what is behind it away: GPUs and adapters that vanish then are its echoes."""
    for port in case.of("pcie_fatal_error"):
        case.change(lambda one, port=port: _is_behind(one, port), role="echo")  # type: ignore[misc]


def _is_behind(one: Finding, port: Finding) -> bool:
    is_device = one.role == "root" and one.cause in {"gpu_lost", "nic_failure", "local_disk_failure"}
    is_later = one.order[0] != port.order[0] or one.order > port.order
    return is_device and one.node == port.node and is_later


def one_switch(case: Case) -> None:
    """Ports of several nodes go down within seconds, and all of them hang on one switch: the switch."""
    told = [one for one in case.of("link_flap", "link_fault") if one.node]
    nodes = list(dict.fromkeys(one.node for one in told if one.node))
    times = [one.time for one in told if one.time is not None]
    if len(nodes) < _SEVERAL or (times and max(times) - min(times) > _TOGETHER_S):
        return
    shared = _shared(case, nodes)
    by_kernel = [one for one in told if one.source.startswith("kernel/") and one.time is not None]
    moments = [one.time for one in by_kernel if one.time is not None]
    is_one_moment = {one.node for one in by_kernel} >= set(nodes) and max(moments) - min(moments) <= _MOMENT_S
    if shared is None and len(nodes) < _MANY and not is_one_moment:
        return
    name = f"{shared[0]} {shared[1]}" if shared else "the same part of the fabric"
    case.findings.append(
        Finding(
            signature="ports_down_together",
            role="root",
            cause="switch_failure",
            weight=0.92 if shared else 0.8 if len(nodes) >= _MANY else 0.66,
            scope="job",
            source="topology.json" if shared else told[0].source,
            text=f"ports of {len(nodes)} nodes went down together, and all of them hang on {name}",
            time=told[0].time,
        )
    )
    case.change(told, role="echo")
    case.change(lambda one: one.role == "root" and one.cause == "shared_fs_outage" and one.node in nodes, role="echo")


def one_node_differs(case: Case) -> None:
    """What the environment lacks on all ranks of one node and on no other: the node is set up differently."""
    told = [one for one in case.of(*_ENVIRONMENT) if one.rank is not None]
    nodes = {case.node_of(one) for one in told}
    ranks = {one.rank for one in told}
    others = {rank for rank, place in case.places.items() if place.node not in nodes} - ranks
    if not others & case.heard and any(one.node and one.node not in nodes for one in failures(case.findings)):
        return  # the others failed, too, and nobody has heard why
    if len(nodes) == 1 and None not in nodes and len(ranks) >= _SEVERAL and others and len(case.nodes) >= _SEVERAL:
        case.change(told, cause="node_misconfigured", weight=0.86)


def all_nodes_alike(case: Case) -> None:
    """Driver and libraries do not fit on several nodes: the program was built for another driver, no node is odd."""
    told = case.of("driver_library_mismatch")
    if len({case.node_of(one) for one in told} - {None}) > 1 and len({case.node_of(one) for one in told}) >= len(
        case.nodes
    ):
        case.change(told, cause="library_version_incompat", scope="job")


def one_rack(case: Case) -> None:
    """Several nodes lost within two minutes that share a switch, a rack or a power supply: blame what they share."""
    lost = case.of(_LOST)
    nodes = list(dict.fromkeys(node for one in lost for node in case.named_nodes(one)))
    times = [one.time for one in lost if one.time is not None]
    if len(nodes) < _SEVERAL or (times and max(times) - min(times) > _TOGETHER_S):
        return
    if shared := _shared(case, nodes):
        kind, name = shared
        what, weight, where = "switch_failure" if kind == "switch" else "node_power_loss", 0.9, f"{kind} {name}"
    elif max(len(case.named_nodes(one)) for one in lost) >= _CROWD:
        kind, what, weight, where = "part", "switch_failure", 0.62, "something that nobody has told"
    else:
        return
    case.findings.append(
        Finding(
            signature=f"shared_{kind}",
            role="root",
            cause=what,
            weight=weight,
            scope="job",
            source="topology.json" if case.bundle.topology else lost[-1].source,
            text=f"{len(nodes)} nodes were lost together, and all of them hang on {where}",
            time=lost[0].time,
            names=",".join(nodes) if what == "node_power_loss" else "",
        )
    )
    case.change(lambda one: one.role == "root" and one.cause == _LOST, role="echo")


def _shared(case: Case, nodes: list[NodeName]) -> tuple[str, str] | None:
    """By `topology.json`, and by what a log has of Slurm's topology."""
    told = {one.number: one.names for one in case.known("slurm_topology_switch") if one.number and one.names}
    topology = {**case.bundle.topology, **({"switch_of_log": told} if told else {})}
    return shared_by(topology, nodes, case.nodes)


def is_device(one: Finding) -> bool:
    """It shows a fault of a device or a machine."""
    return one.role == "root" and bool(one.cause) and cause(one.cause).cls is Class.HARDWARE


def most_accused(case: Case) -> NodeName | None:
    """The node that peers name in their complaints and that is heard least of itself."""
    accused = Counter(node for one in case.findings if one.scope == "peer" for node in case.accused_by(one))
    if not accused:
        return None
    (first, count), *others = accused.most_common(2)
    return first if not others or count > others[0][1] else None
