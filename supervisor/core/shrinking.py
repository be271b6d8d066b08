"""Nodes on their way out of the job: the order to Slurm, and what happens while Slurm does not answer."""

from typing import Final

from supervisor.core.events import Shrunk
from supervisor.core.instructions import Shrink
from supervisor.core.state import Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import names

_AGAIN_S: Final = 5.0
"""Slurm ends the whole job as soon as it notices a dead node that is still in it: seconds after it answers again."""


def order(turn: Turn) -> Shrink:
    """The order under way; may be given again."""
    drop = turn.state.shrinking
    return Shrink(drop=drop, keep=tuple(node for node in turn.state.held if node not in drop))


def failed(turn: Turn, event: Shrunk) -> None:
    """The nodes are hidden from the ranks; where nobody knows what Slurm made of the order, it is given again."""
    state = turn.state
    turn.set(undroppable=tuple(dict.fromkeys([*state.undroppable, *event.dropped])))
    if not event.is_heard:
        turn.set(unheard=event.dropped, shrink_at=turn.at + _AGAIN_S)
    if not event.is_heard and set(event.dropped) <= set(state.unheard):
        return  # it was said
    turn.say(f"Slurm keeps {names(event.dropped)} in the job ({event.text or 'no answer'}): hidden from the ranks")


def succeeded(turn: Turn, event: Shrunk) -> None:
    """They have left, whatever was thought of it before."""
    state, gone = turn.state, set(event.dropped)
    turn.set(
        out=tuple(dict.fromkeys([*state.out, *event.dropped])),
        undroppable=tuple(node for node in state.undroppable if node not in gone),
        unheard=tuple(node for node in state.unheard if node not in gone),
    )


def again(turn: Turn) -> None:
    """While ranks run without them, Slurm is asked once more to let nodes go that it may never have heard about."""
    state = turn.state
    is_due = bool(state.unheard) and turn.at >= state.shrink_at and not state.shrinking
    if is_due and state.stage is Stage.RUNNING and not turn.is_observing:
        turn.set(shrinking=state.unheard)
        turn.do(order(turn))
