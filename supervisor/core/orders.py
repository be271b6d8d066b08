"""Orders of persons to the running job. Each is answered in words, once."""

from typing import Final

from supervisor.core import halt, recover, watch
from supervisor.core.events import Ordered
from supervisor.core.instructions import PutAway
from supervisor.core.launch import note_unfit
from supervisor.core.state import Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import names
from supervisor.model.ids import NodeName
from supervisor.model.order import Answer, PersonOrder, refused

_KEPT: Final = 32
"""Answers: more than orders that are read in one look, since one whose file cannot be taken away is read again."""
_BY_PERSON: Final = "excluded by "


def ordered(turn: Turn, event: Ordered) -> None:
    """Carry it out, unless that was done: an order is read again after a takeover."""
    order = event.order
    if order.id not in turn.state.answers:
        answer = refused("the job is over") if turn.state.stage is Stage.FINISHED else _carried_out(turn, order)
        turn.set(answers=dict([*turn.state.answers.items(), (order.id, answer)][-_KEPT:]))
        turn.say(f"supervise {order.what} by {order.by}: {answer.text}")
    turn.do(PutAway(order=order.id))


def _carried_out(turn: Turn, order: PersonOrder) -> Answer:
    match order.what:
        case "halt":
            return halt.ordered(turn, order)
        case "resume":
            return halt.take_back(turn)
        case "mode":
            return _mode(turn, order)
        case "exclude":
            return _exclude(turn, order)
        case "unexclude":
            return _unexclude(turn, order)


def _mode(turn: Turn, order: PersonOrder) -> Answer:
    """A recovery that has begun is ended in the mode it was begun in: half of one helps nobody."""
    if order.mode == turn.settings.mode:
        return refused(f"the mode is {order.mode} already")
    if turn.state.stage is not Stage.RUNNING:
        return refused(f"not now: the job is {turn.state.stage.value}; ask again when its ranks run")
    turn.change_behind(mode=order.mode)
    if order.mode == "observe":
        return Answer(text="mode observe: nothing is stopped, restarted or submitted from now on")
    return _act(turn)


def _act(turn: Turn) -> Answer:
    """What was only recorded of the present attempt counts from now on: it may hang, and nobody tells that twice."""
    attempt = turn.attempt
    turn.change_attempt(is_observed=False)
    broken_at = attempt.hung_at if attempt.failed_at is None else attempt.failed_at
    if attempt.is_observed and broken_at is not None:
        recover.interrupted(turn, evidence_at=broken_at, lost=watch.lost_of_attempt(turn))
        return Answer(text="mode act: the present attempt has failed or hangs already, which is acted upon now")
    return Answer(text="mode act: the next interruption is acted upon")


def _exclude(turn: Turn, order: PersonOrder) -> Answer:
    """The next attempt does not use them, nor does another job; the present attempt goes on."""
    for node in order.nodes:
        note_unfit(turn, node, f"{_BY_PERSON}{order.by}")
    turn.change_behind(excluded=tuple(dict.fromkeys([*order.nodes, *turn.state.behind.excluded])))
    used = [node for node in order.nodes if turn.state.attempt and node in turn.state.attempt.nodes]
    now = f"; {names(used)} stays in use until the next restart" if used else ""
    return Answer(text=f"{names(order.nodes)} will not be used again{now}")


def _unexclude(turn: Turn, order: PersonOrder) -> Answer:
    """What a person or a verdict excluded may be used again; a node that is silent or has left stays out."""
    freed = [node for node in order.nodes if _may_come_back(turn, node)]
    turn.change_behind(excluded=tuple(node for node in turn.state.behind.excluded if node not in order.nodes))
    turn.set(unfit={node: why for node, why in turn.state.unfit.items() if node not in freed})
    kept = [node for node in order.nodes if node not in freed]
    told = [f"{names(freed)} may be used again"] if freed else []
    told += [f"{names(kept)}: only in another job"] if kept else []
    return Answer(text="; ".join(told))


def _may_come_back(turn: Turn, node: NodeName) -> bool:
    state = turn.state
    stays_out = {*state.trouble, *state.unkillable, *state.shrinking}
    return node in state.held and node not in stays_out
