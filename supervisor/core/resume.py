"""Where the next attempt resumes: the newest whole checkpoint, never the beginning unasked."""

from typing import Final

import msgspec

from supervisor.core import incident
from supervisor.core.end import finish
from supervisor.core.events import CheckpointChosen
from supervisor.core.instructions import ChooseCheckpoint
from supervisor.core.state import Stage
from supervisor.core.turn import Turn
from supervisor.model.facts import Checkpoint, Choice

_PAUSES_S: Final = (2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 240.0)
"""Between two looks at a checkpoint store that gives no answer: a file server's other half takes minutes to step in."""
_FRESH_S: Final = 1.0
"""A checkpoint that was found whole this recently need not be looked at again before the launch."""
_NO_CHECKPOINT: Final = Choice(chosen=None, why="no checkpoint folder is configured")


def choose(turn: Turn) -> None:
    """Ask for the newest whole checkpoint, unless that is under way or its answer is there."""
    state = turn.state
    if state.choice is not None or state.is_choosing or state.choose_at is not None:
        return
    if not turn.settings.checkpoint:
        turn.set(choice=_NO_CHECKPOINT)
        return
    turn.set(is_choosing=True)
    turn.do(_order(turn))


def is_checked_again(turn: Turn) -> bool:
    """The chosen checkpoint was whole just now. If that is too long ago, it is looked at again, and False for now.

    Between choice and launch lie tier 0 and Slurm's answers: seconds in which somebody may clear up.
    """
    best = turn.state.choice.chosen if turn.state.choice else None
    if best is None or turn.at - turn.state.chosen_at <= _FRESH_S:
        return True
    turn.set(choice=None, is_choosing=True)
    turn.do(_order(turn, again=best))
    return False


def _order(turn: Turn, *, again: Checkpoint | None = None) -> ChooseCheckpoint:
    behind = turn.state.behind
    return ChooseCheckpoint(
        attempt=turn.state.next_attempt, known_step=behind.checkpoint_step, again=again, avoid=behind.distrusted
    )


def chosen(turn: Turn, event: CheckpointChosen) -> None:
    """The checkpoint for the next attempt, if it can be trusted."""
    state = turn.state
    if event.attempt != state.next_attempt or not state.is_choosing or state.stage in {Stage.ENDING, Stage.FINISHED}:
        return
    turn.set(is_choosing=False)
    why = _distrust(turn, event.choice)
    if not why:
        _accept(turn, event.choice)
    elif _is_none_left(turn, event.choice):
        _stop(turn, "no checkpoint is left that can be loaded; mend or remove the newest, and submit again")
    elif not _has_past(turn):
        # The script would decide by itself without us, too.
        turn.say(f"the checkpoints cannot be read ({why}): the script starts as it would without supervise")
        turn.set(choice=msgspec.structs.replace(event.choice, chosen=None))
    else:
        _choose_later(turn, why)


def _accept(turn: Turn, choice: Choice) -> None:
    """Take this choice for the next attempt. A newer checkpoint than last time is progress, with beats or without."""
    turn.set(choice=choice, chosen_at=turn.at)
    if choice.chosen is None:
        return
    known = turn.state.behind.checkpoint_step
    if known is None or choice.chosen.step > known:
        changes = {"restarts_without_progress": 0} if turn.state.behind.attempts else {}
        turn.change_behind(checkpoint_step=choice.chosen.step, **changes)
    elif turn.state.behind.distrusted and choice.chosen.step < known:
        # Behind a checkpoint that could not be loaded: what is written from here on is progress.
        turn.change_behind(checkpoint_step=choice.chosen.step)


def _distrust(turn: Turn, choice: Choice) -> str:
    """Why the choice is not believed; empty: it is."""
    if not choice.is_trustworthy:
        return choice.why or "the listing failed"
    if choice.chosen is None and turn.state.behind.checkpoint_step is not None:
        return f"there was one of step {turn.state.behind.checkpoint_step}, and none is found now"
    return ""


def _is_none_left(turn: Turn, choice: Choice) -> bool:
    """The store answers, and all it has is what an attempt could not begin with: waiting brings no other."""
    if not choice.is_trustworthy or choice.chosen is not None:
        return False
    return any(one.path in turn.state.behind.distrusted for one in choice.passed_over)


def _has_past(turn: Turn) -> bool:
    behind = turn.state.behind
    return behind.attempts > 0 or behind.checkpoint_step is not None


def _choose_later(turn: Turn, why: str) -> None:
    tries = turn.state.choice_tries
    if tries >= len(_PAUSES_S):
        turn.set(choice_tries=0)
        _stop(turn, f"the checkpoints cannot be read ({why})")
        return
    pause = _PAUSES_S[tries]
    turn.say(f"the checkpoints cannot be read ({why}); looking again in {pause:.0f} s")
    turn.set(choice_tries=tries + 1, choose_at=turn.at + pause)


def _stop(turn: Turn, why: str) -> None:
    words = f"stopped: {why}; never from the beginning unasked"
    if turn.state.incident is not None and not turn.incident.record.is_closed:
        incident.acted(turn, action="stop", text=words)
    finish(turn, words=words)
