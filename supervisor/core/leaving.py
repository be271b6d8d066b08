"""The script has ended, or is stopped, after its ranks were asked to save: another job goes on, before the limit.

It is planned: no budget is used. The ladder of other jobs is whole, since Slurm does not end this one yet.
"""

from typing import Final

from supervisor.core import halted, handover, limit, planned, planned_record, recover, stopping
from supervisor.core.end import finish
from supervisor.core.events import CheckpointChosen
from supervisor.core.state import Exit, Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import completed

_WORDS: Final = "the time limit was near: the ranks have saved and stopped"


def chosen(turn: Turn, event: CheckpointChosen) -> None:
    """The newest checkpoint is known."""
    if turn.state.stage is Stage.LEAVING and event.attempt == turn.attempt.number:
        _settle(turn, event.choice.chosen.step if event.choice.chosen else None)


def late(turn: Turn) -> None:
    """No answer: the steps that were seen decide."""
    _settle(turn, None)


def look(turn: Turn) -> None:
    """Ranks that save and go on are stopped: what they compute now is lost."""
    if not limit.is_to_be_stopped(turn):
        return
    turn.say(f"the checkpoint of step {_newest(turn)} is whole: stopping before the time limit")
    planned_record.keep(turn, "walltime", _WORDS, goes_on=True, evidence_at=turn.at)
    stopping.order_stop(turn)


def _settle(turn: Turn, step: int | None) -> None:
    if turn.state.halt is not None:
        halted.keep(turn)
        finish(turn, words=halted.words(turn.state.halt))
        return
    saving, status = turn.state.saving, turn.attempt.exit or Exit()
    newest = max((each for each in (step, _newest(turn)) if each is not None), default=None)
    known = saving.known_step if saving is not None else None
    is_new = newest is not None and known is not None and newest > known
    if is_new or (status.is_good and planned.has_progress(turn.state, newest)):
        planned_record.keep(turn, "walltime", _WORDS, goes_on=True, evidence_at=turn.at)
        handover.submit(turn)
    elif status.is_good:
        finish(turn, words=completed(recover.interruptions(turn)))
    else:
        recover.interrupted(turn, evidence_at=turn.attempt.failed_at or turn.at)


def _newest(turn: Turn) -> int | None:
    return turn.state.saving.newest_step if turn.state.saving is not None else None
