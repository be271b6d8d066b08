"""`supervise halt`: at once, after the next checkpoint, or at a time; from then on nothing is started any more."""

from typing import Final

import msgspec

from supervisor.core import halted, handover, stopping
from supervisor.core.carried import Halt
from supervisor.core.deadlines import leaving_s
from supervisor.core.end import finish
from supervisor.core.events import CheckpointChosen
from supervisor.core.instructions import AskSave, ChooseCheckpoint, StopAttempt
from supervisor.core.state import Stage
from supervisor.core.turn import Turn
from supervisor.model.order import Answer, PersonOrder, refused

_LOOK_S: Final = 10.0
"""Between two looks for the checkpoint that is waited for."""
_BEGUN: Final = "the run is being halted"
_MINUTE_S: Final = 60.0


def ordered(turn: Turn, order: PersonOrder) -> Answer:
    """Halt the run, or note when; the answer for the person."""
    if turn.state.halt is not None and turn.state.halt.is_now:
        return Answer(text=_BEGUN)
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
    if turn.state.stage is Stage.ENDING and waits:
        handover.take_back(turn)
        return Answer(text="the job is being ended already: its script has its time, and nothing is started after it")
    if order.is_now or turn.state.stage is not Stage.RUNNING:
        begin(turn)
        return Answer(text=_BEGUN)
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
            stopping.order_stop(turn)
        case Stage.PREPARING | Stage.CHECKING | Stage.SHRINKING:
            halted.keep(turn)
            finish(turn, words=halted.words(turn.state.halt))
        case Stage.STOPPING:
            halted.keep(turn)
        case Stage.ENDING:
            handover.take_back(turn)
            _stop_ending(turn)
        case _:
            # Being diagnosed or submitted: the decision, or the answer of Slurm, finds the halt.
            pass


def look(turn: Turn) -> None:
    """Time passes: the hour has come, or it is time for another look for the checkpoint."""
    halt, stage = turn.state.halt, turn.state.stage
    if halt is None or stage not in {Stage.RUNNING, Stage.ENDING}:
        return
    is_due = halt.until is not None and turn.at >= halt.until
    if halt.is_now or is_due:
        begin(turn)
    elif stage is Stage.RUNNING and halt.waits_for_checkpoint and turn.at - (halt.looked_at or 0.0) >= _LOOK_S:
        turn.set(halt=msgspec.structs.replace(halt, looked_at=turn.at))
        # By the number of the attempt that saves: what the next one resumes from is another question, and asked later.
        turn.do(ChooseCheckpoint(attempt=turn.attempt.number, avoid=turn.state.behind.distrusted))


def chosen(turn: Turn, event: CheckpointChosen) -> None:
    """The newest checkpoint: the first answer is what there is already, a newer one is what is waited for."""
    halt = turn.state.halt
    is_asked = halt is not None and halt.waits_for_checkpoint and not halt.is_now
    if halt is None or not is_asked or turn.state.stage is not Stage.RUNNING or not event.choice.is_trustworthy:
        return
    if event.attempt != turn.attempt.number:
        return
    step = event.choice.chosen.step if event.choice.chosen else -1
    if halt.known_step is not None and step > halt.known_step:
        turn.say(f"the checkpoint of step {step} is whole: halting")
        begin(turn)
        return
    if halt.known_step is None:
        turn.set(halt=msgspec.structs.replace(halt, known_step=step))
    # At each look: an agent or the broker may have been away, and a supervisor may have died with the question.
    turn.do(AskSave(attempt=turn.attempt.number))


def _stop_ending(turn: Turn) -> None:
    """Slurm may let a job run after a SIGTERM, and its script for as long as it likes."""
    attempt = turn.state.attempt
    if attempt is not None and attempt.is_live and attempt.is_started and not attempt.is_stopping:
        turn.change_attempt(is_stopping=True)
        turn.set(deadline=turn.at + leaving_s(turn.settings))
        turn.do(StopAttempt(attempt=attempt.number, nodes=attempt.nodes))


def _when(turn: Turn, order: PersonOrder) -> str:
    after = "after its next checkpoint" if turn.settings.checkpoint else ""
    latest = f"in {_span(order.until - turn.at)}" if order.until is not None else ""
    return f"{after}, {latest} at the latest" if after and latest else after or latest


def _span(seconds: float) -> str:
    if seconds < 2 * _MINUTE_S:
        return f"{max(0.0, seconds):.0f} s"
    hours, minutes = divmod(round(seconds / _MINUTE_S), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
