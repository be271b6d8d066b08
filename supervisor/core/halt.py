"""`supervise halt`: at once, after the next checkpoint, or at a time; from then on nothing is started any more."""

from typing import Final

import msgspec

from supervisor.core import halted, handover, recover
from supervisor.core.end import finish
from supervisor.core.events import CheckpointChosen
from supervisor.core.instructions import AskSave, ChooseCheckpoint
from supervisor.core.state import Halt, Stage
from supervisor.core.turn import Turn
from supervisor.model.order import Answer, PersonOrder, refused

_LOOK_S: Final = 10.0
"""Between two looks for the checkpoint that is waited for."""


def ordered(turn: Turn, order: PersonOrder) -> Answer:
    """Halt the run, or note when; the answer for the person."""
    waits = not order.is_now
    if waits and not turn.settings.checkpoint and order.until is None:
        return refused("no checkpoints are known (--checkpoint); halt the run with --now, or --before TIME")
    turn.set(
        halt=Halt(
            by=order.by,
            why=order.why,
            is_now=order.is_now,
            until=order.until,
            waits_for_checkpoint=waits and bool(turn.settings.checkpoint),
        )
    )
    if order.is_now or turn.state.stage is not Stage.RUNNING:
        begin(turn)
        return Answer(text="the run is being halted")
    look(turn)
    return Answer(text=f"the run is halted {_when(turn, order)}; supervise resume takes that back")


def take_back(turn: Turn) -> Answer:
    """`supervise resume`: the run goes on, if it is not being stopped yet."""
    halt = turn.state.halt
    if halt is None:
        return refused("nothing to take back: the run is not to be halted")
    if halt.is_now or turn.state.stage is not Stage.RUNNING:
        return refused("too late: the run is being halted")
    turn.set(halt=None)
    return Answer(text="the run goes on; ranks that were asked to save and stop may do so all the same")


def begin(turn: Turn) -> None:
    """Halt now. What is under way in another stage comes to its own end, and starts nothing any more."""
    if turn.state.halt is None:
        return
    turn.set(halt=msgspec.structs.replace(turn.state.halt, is_now=True))
    match turn.state.stage:
        case Stage.RUNNING | Stage.LAUNCHING:
            halted.keep(turn)
            recover.order_stop(turn)
        case Stage.PREPARING | Stage.CHECKING | Stage.SHRINKING:
            halted.keep(turn)
            finish(turn, words=halted.words(turn.state.halt))
        case Stage.STOPPING:
            halted.keep(turn)
        case Stage.ENDING:
            handover.take_back(turn)
        case _:
            # Being diagnosed or submitted: the decision, or the answer of Slurm, finds the halt.
            pass


def look(turn: Turn) -> None:
    """Time passes: the hour has come, or it is time for another look for the checkpoint."""
    halt = turn.state.halt
    if halt is None or turn.state.stage is not Stage.RUNNING:
        return
    if halt.is_now or (halt.until is not None and turn.at >= halt.until):
        begin(turn)
    elif halt.waits_for_checkpoint and (halt.looked_at is None or turn.at - halt.looked_at >= _LOOK_S):
        turn.set(halt=msgspec.structs.replace(halt, looked_at=turn.at))
        turn.do(ChooseCheckpoint(attempt=turn.state.next_attempt, avoid=turn.state.behind.distrusted))


def chosen(turn: Turn, event: CheckpointChosen) -> None:
    """The newest checkpoint: the first answer is what there is already, a newer one is what is waited for."""
    halt = turn.state.halt
    is_asked = halt is not None and halt.waits_for_checkpoint and not halt.is_now
    if halt is None or not is_asked or turn.state.stage is not Stage.RUNNING or not event.choice.is_trustworthy:
        return
    step = event.choice.chosen.step if event.choice.chosen else -1
    if halt.known_step is None:
        turn.set(halt=msgspec.structs.replace(halt, known_step=step))
        turn.do(AskSave(attempt=turn.attempt.number))
    elif step > halt.known_step:
        turn.say(f"the checkpoint of step {step} is whole: halting")
        begin(turn)


def _when(turn: Turn, order: PersonOrder) -> str:
    after = "after its next checkpoint" if turn.settings.checkpoint else ""
    latest = f"in {max(0.0, order.until - turn.at):.0f} s" if order.until is not None else ""
    return f"{after}, {latest} at the latest" if after and latest else after or latest
