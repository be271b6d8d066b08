"""Nodes that fall silent: probed, believed lost only with a witness; agents that died alone are started again."""

from typing import Any, Final, Literal

import msgspec

from supervisor.core.accounting import requested_at_start
from supervisor.core.cause import is_preempted
from supervisor.core.events import AgentSilent, AgentUp, NodeProbed, SlurmReported
from supervisor.core.instructions import AskSlurm, CheckNodes, ProbeNode
from supervisor.core.launch import note_unfit
from supervisor.core.state import SlurmView, Stage, Trouble
from supervisor.core.turn import Turn
from supervisor.core.wording import silence
from supervisor.model.facts import NodeState
from supervisor.model.ids import NodeName

_PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Between two probes of a node that is alive or of which nothing is known."""
_PROBE_S: Final = 6.0
"""A probe without an answer for this long is asked again."""
_SLURM_PAUSES_S: Final = (3.0, 5.0, 10.0, 20.0, 60.0)
_RESTART_PAUSES_S: Final = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Before a silent agent on a living node is started again: it may be the broker that is away."""
_QUIET_S: Final = 300.0
"""Without a restart of agents for this long, the next one may come at once again."""
_SURE_DEAD: Final = 2
"""Dead answers in a row: the last one comes just before the loss is believed."""
_APART_S: Final = 0.5
"""Between the beginnings of those two probes: a slurmd that restarts refuses twice within a millisecond."""
_WITNESSED: Final = frozenset({"last_will", "step_ended"})
"""Broker or agent step have told of the end too, which no slurmd's restart makes them do: probed again at once."""
_WITNESS_S: Final = 10.0
"""How long an answer of Slurm proves that our own network works."""
_SEVERAL: Final = 2


def heard(turn: Turn, event: AgentUp) -> None:
    """The node's agent is there."""
    if event.node not in turn.state.held:
        return
    trouble = {node: seen for node, seen in turn.state.trouble.items() if node != event.node}
    turn.set(up=turn.state.up | {event.node}, trouble=trouble)


def silent(turn: Turn, event: AgentSilent) -> None:
    """The node is not heard: ask its slurmd, unless it is the node we run on."""
    node = event.node
    if node not in turn.state.held or node in turn.state.trouble or node in turn.state.unfit:
        turn.set(up=turn.state.up - {node})
        return
    is_own = node == turn.state.batch_host
    trouble = Trouble(since=min(event.last_heard, turn.at), how=event.how, asked_at=turn.at)
    if is_own:
        trouble = msgspec.structs.replace(trouble, answer="alive", restart_at=turn.at + _restart_pause(trouble))
    turn.set(up=turn.state.up - {node}, trouble={**turn.state.trouble, node: trouble})
    if not is_own:
        turn.do(ProbeNode(node=node))


def probed(turn: Turn, event: NodeProbed) -> None:
    """The node's slurmd has answered, or has not."""
    seen = turn.state.trouble.get(event.node)
    if seen is None or event.node == turn.state.batch_host:
        return
    row = seen.dead_in_a_row + 1 if event.answer == "dead" else 0
    is_unsure = event.answer == "dead" and row < _SURE_DEAD
    next_at = _second_at(turn, seen) if is_unsure else turn.at + _paused(_PAUSES_S, seen.probes)
    is_due = next_at <= turn.at
    _change(
        turn,
        event.node,
        answer=event.answer,
        dead_in_a_row=row,
        text=event.text,
        probes=0 if is_unsure else seen.probes + 1,
        probe_at=None if is_due else next_at,
        asked_at=turn.at,
        restart_at=_restart_at(turn, seen, event.answer),
    )
    if is_due:
        turn.do(ProbeNode(node=event.node))
    if event.answer == "unknown" or (event.answer == "dead" and not _has_witness(turn, event.node)):
        _ask_slurm(turn)


def slurm_said(turn: Turn, event: SlurmReported) -> None:
    """Slurm has answered about job and nodes, or its answer failed: then nothing changes but the time."""
    if event.job is None:
        return
    down = tuple(state.node for state in event.nodes if _is_down(state))
    seen = SlurmView(
        answered_at=turn.at,
        job=event.job,
        down=down,
        ask_again_at=turn.state.slurm.ask_again_at,
        asked=turn.state.slurm.asked,
    )
    turn.set(slurm=seen)
    if event.job.state == "RUNNING" and event.job.end_time is not None:
        turn.set(walltime_at=event.job.end_time)
        turn.set(grace_until=event.job.end_time if is_preempted(event.job) else None)
        if not turn.state.behind.requested_node_seconds:
            # Slurm gave no answer when the job began: the budget of lost time holds from here on.
            turn.change_behind(requested_node_seconds=requested_at_start(turn.state))


def look(turn: Turn) -> None:
    """What the passing of time asks for: probes that are due, agents to be started again."""
    for node, seen in turn.state.trouble.items():
        if node == turn.state.batch_host or node in turn.state.unfit:
            continue
        is_lost_probe = seen.probe_at is None and turn.at - seen.asked_at > _PROBE_S
        if is_lost_probe or (seen.probe_at is not None and turn.at >= seen.probe_at):
            _change(turn, node, probe_at=None, asked_at=turn.at)
            turn.do(ProbeNode(node=node))
    if turn.state.stage is Stage.RUNNING:
        _restart_agents(turn)
        if _is_mass(turn):
            _ask_slurm(turn)


def newly_lost(turn: Turn) -> tuple[NodeName, ...]:
    """Nodes that are believed lost from now on; each is noted as unfit and said once."""
    lost = tuple(node for node in turn.state.trouble if node not in turn.state.unfit and _is_lost(turn, node))
    for node in lost:
        seen = turn.state.trouble[node]
        note_unfit(turn, node, silence(node, silent_s=turn.at - seen.since, probe=seen.text).removeprefix(f"{node} "))
    return lost


def suspected(turn: Turn) -> tuple[NodeName, ...]:
    """Nodes of the present attempt that are lost or were found dead by a probe: evidence for a diagnosis.

    One that was lost before it began is no evidence any more: it would be to blame for all that comes.
    """
    nodes = turn.state.attempt.nodes if turn.state.attempt else ()
    trouble = turn.state.trouble.items()
    return tuple(node for node, seen in trouble if node in nodes and (seen.dead_in_a_row or node in turn.state.unfit))


def lost_of_attempt(turn: Turn) -> tuple[NodeName, ...]:
    """Nodes of the present attempt that are believed lost."""
    nodes = turn.state.attempt.nodes if turn.state.attempt else ()
    return tuple(node for node in nodes if node in turn.state.trouble and node in turn.state.unfit)


def forget_open(turn: Turn) -> None:
    """After a takeover: answers to probes are lost, and who is up has to be heard anew."""
    trouble = {
        node: msgspec.structs.replace(seen, probe_at=turn.at, asked_at=turn.at)
        for node, seen in turn.state.trouble.items()
    }
    turn.set(up=frozenset(), trouble=trouble)


def _is_lost(turn: Turn, node: NodeName) -> bool:
    state, seen = turn.state, turn.state.trouble[node]
    if node == state.batch_host or seen.answer in {"", "alive"}:
        return False
    is_old = turn.at - seen.since >= turn.settings.lease_s
    if _is_fresh(turn, seen.since) and node in state.slurm.down:
        return True
    if seen.dead_in_a_row < _SURE_DEAD:
        # Nobody could be reached from here, but Slurm can: after the lease that is no doubt any more.
        return seen.answer == "unknown" and is_old and _is_fresh(turn, turn.at - _WITNESS_S)
    return _has_witness(turn, node) and (is_old or not _is_mass(turn))


def _second_at(turn: Turn, seen: Trouble) -> float:
    """When a node that was found dead once is probed again. A probe that waited for its answer was long enough ago."""
    return turn.at if seen.how in _WITNESSED else max(turn.at, seen.asked_at + _APART_S)


def _has_witness(turn: Turn, node: NodeName) -> bool:
    """Somebody else is reached, so that it is not our own network that is away."""
    others = turn.state.up - {node, turn.state.batch_host}
    return bool(others) or _is_fresh(turn, turn.at - _WITNESS_S)


def _is_fresh(turn: Turn, since: float) -> bool:
    answered = turn.state.slurm.answered_at
    return answered is not None and answered >= since


def _is_mass(turn: Turn) -> bool:
    """Several nodes at once, more than half: rather our own network than theirs."""
    others = [node for node in turn.state.held if node != turn.state.batch_host and node not in turn.state.unfit]
    quiet = sum(node in turn.state.trouble for node in others)
    return quiet >= _SEVERAL and 2 * quiet > len(others)


def _is_down(state: NodeState) -> bool:
    return "DOWN" in state.states or not state.is_responding


def _ask_slurm(turn: Turn) -> None:
    seen = turn.state.slurm
    if turn.at < seen.ask_again_at:
        return
    is_quiet = turn.at - seen.ask_again_at > 2 * _SLURM_PAUSES_S[-1]
    asked = 0 if is_quiet else seen.asked
    pause = _paused(_SLURM_PAUSES_S, asked)
    turn.set(slurm=msgspec.structs.replace(seen, ask_again_at=turn.at + pause, asked=asked + 1))
    turn.do(AskSlurm())


def _restart_agents(turn: Turn) -> None:
    """One step for all agents that are due."""
    state = turn.state
    troubled = state.trouble.items()
    due = [node for node, seen in troubled if seen.restart_at is not None and turn.at >= seen.restart_at]
    if not due or turn.at < state.agents_at:
        return
    is_quiet = turn.at - state.agents_at > _QUIET_S
    restarts = 0 if is_quiet else state.agent_restarts
    pause = _paused(_RESTART_PAUSES_S, restarts)
    for node in due:
        _change(turn, node, restart_at=turn.at + pause)
    number = state.asks + 1
    turn.set(asks=number, agents_at=turn.at + pause, agent_restarts=restarts + 1)
    nodes = tuple(node for node in turn.state.held if node in due)
    turn.do(CheckNodes(ask=f"agents-{number}", nodes=nodes))


def _restart_at(turn: Turn, seen: Trouble, answer: Literal["alive", "dead", "unknown"]) -> float | None:
    if answer != "alive":
        return None
    return seen.restart_at if seen.restart_at is not None else turn.at + _restart_pause(seen)


def _restart_pause(seen: Trouble) -> float:
    """A step that has ended does not come back by itself; a silent agent may."""
    return 0.0 if seen.how == "step_ended" else _RESTART_PAUSES_S[0]


def _paused(pauses: tuple[float, ...], times: int) -> float:
    return pauses[min(times, len(pauses) - 1)]


def _change(turn: Turn, node: NodeName, **changes: Any) -> None:  # fields of Trouble
    seen = msgspec.structs.replace(turn.state.trouble[node], **changes)
    turn.set(trouble={**turn.state.trouble, node: seen})
