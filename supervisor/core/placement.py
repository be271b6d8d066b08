"""Which nodes the next attempt runs on, and which must leave the job first."""

from typing import Literal

from supervisor.core.state import State
from supervisor.model.base import Fact
from supervisor.model.ids import NodeName
from supervisor.settings import Settings


class Placement(Fact, frozen=True, kw_only=True):
    """One choice of nodes, in Slurm's order."""

    nodes: tuple[NodeName, ...]
    hidden: tuple[NodeName, ...]
    """Nodes of the job that the attempt does not use."""
    how: Literal["relaunch", "relaunch_on_spare", "relaunch_smaller"]
    unchecked: tuple[NodeName, ...] = ()
    """Those that must pass tier 0 before the launch."""


def place(state: State, settings: Settings) -> Placement | None:
    """The best nodes by what is known now; None: this job cannot go on, another one is needed."""
    if state.is_unproven or (state.batch_host in state.unfit and not state.may_start_anyway):
        return None
    usable = sorted((node for node in state.held if _may_run(state, node)), key=lambda node: _rank(state, node))
    if len(usable) >= state.wanted:
        chosen = usable[: state.wanted]
    elif settings.min_nodes and len(usable) >= settings.min_nodes:
        chosen = usable
    else:
        return None
    nodes = tuple(node for node in state.held if node in set(chosen))
    return Placement(
        nodes=nodes,
        hidden=tuple(node for node in state.held if node not in set(chosen)),
        how=_how(state, nodes),
        unchecked=tuple(node for node in nodes if not _is_settled(state, node)),
    )


def leaving(state: State) -> tuple[NodeName, ...]:
    """Nodes that must leave the job before anything is launched: unfit, still held, and Slurm has not refused."""
    if state.may_start_anyway:
        return ()
    stays = {state.batch_host, *state.undroppable}
    return tuple(node for node in state.held if node in state.unfit and node not in stays)


def candidates(state: State, placement: Placement) -> tuple[NodeName, ...]:
    """Nodes to ask in one go: those of the placement, and every other that is healthy as far as we know."""
    chosen = set(placement.nodes)
    return tuple(
        node for node in state.held if node in chosen or (node not in state.unfit and node not in state.trouble)
    )


def is_silent(state: State, node: NodeName) -> bool:
    """Tier 0 had no answer of this node."""
    return state.check is not None and state.check.answer is not None and node in state.check.answer.silent


def _may_run(state: State, node: NodeName) -> bool:
    if node not in state.unfit:
        return True
    # A node that tier 0 found bad is better than no start at all; a dead one is not.
    return state.may_start_anyway and node not in state.trouble


def _rank(state: State, node: NodeName) -> tuple[bool, ...]:
    """Sorts the best first; among equals Slurm's order stays, so that the last names are the spares."""
    before = state.attempt.nodes if state.attempt else ()
    return (
        node != state.batch_host,
        node in state.unfit,
        is_silent(state, node) or node in state.trouble,
        bool(before) and node not in before,
        node in state.behind.excluded,
    )


def _is_settled(state: State, node: NodeName) -> bool:
    """Tier 0 says good, or silence is accepted: always of our own node, and of any before a first launch."""
    if state.may_start_anyway:
        return True
    answer = state.check.answer if state.check else None
    if answer is None:
        return False
    return node in answer.good or (node in answer.silent and (state.is_first or node == state.batch_host))


def _how(state: State, nodes: tuple[NodeName, ...]) -> Literal["relaunch", "relaunch_on_spare", "relaunch_smaller"]:
    before = state.attempt.nodes if state.attempt else nodes
    if len(nodes) < len(before):
        return "relaunch_smaller"
    return "relaunch" if set(nodes) <= set(before) else "relaunch_on_spare"
