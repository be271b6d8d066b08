"""The time limit, read ahead: early enough for a save the ranks are asked to save and stop.

Only where another job would go on from what they save. Ranks that do not hear go on until the limit, as without this.
"""

from typing import Any, Final

import msgspec

from supervisor.core.deadlines import asking_s
from supervisor.core.events import CheckpointChosen, Saved
from supervisor.core.instructions import AskSave, AskSlurm, ChooseCheckpoint
from supervisor.core.state import Saving, Stage, State
from supervisor.core.turn import Turn
from supervisor.settings import Settings

_SPREAD: Final = 1.5
"""The next save may take so much longer than the longest one so far."""
_MOST: Final = 0.5
"""Of a job's whole time: a short job is not asked before it has computed anything."""
_LOOK_S: Final = 10.0
"""Between two looks for what was saved; each asks again, since an agent or the broker may have been away."""
LEAVE_S: Final = 30.0
"""For ranks to leave by themselves once a new checkpoint is whole."""


def lead_s(state: State, settings: Settings) -> float:
    """So long before the time limit the ranks are asked. State and limit must be known."""
    wanted = _SPREAD * state.behind.save_s + settings.save_margin_s
    return min(wanted, _MOST * ((state.walltime_at or state.started_at) - state.started_at))


def saved(turn: Turn, event: Saved) -> None:
    """A save took so long, from its first beat to the next step of the slowest rank."""
    turn.change_behind(save_s=max(turn.state.behind.save_s, event.seconds))


def look(turn: Turn) -> None:
    """Time passes: Slurm is asked whether the limit still stands, then the ranks, then for what they have saved."""
    saving = turn.state.saving
    if not _is_near(turn) or not _would_help(turn):
        return
    if saving is None:
        # It may have been raised since Slurm was asked last, and a suspended job has more of it.
        turn.set(saving=Saving(slurm_at=turn.at))
        turn.do(AskSlurm())
    elif saving.asked_at is None:
        answered = turn.state.slurm.answered_at
        if (answered or 0.0) >= saving.slurm_at or turn.at >= saving.slurm_at + asking_s(turn.settings):
            _ask_first(turn)
    elif turn.at - saving.looked_at >= _LOOK_S:
        _ask(turn)


def slurm_said(turn: Turn) -> None:
    """Slurm has answered: where the limit is further away than was known, nobody is asked yet."""
    saving = turn.state.saving
    if saving is not None and saving.asked_at is None and not _is_near(turn):
        turn.set(saving=None)


def chosen(turn: Turn, event: CheckpointChosen) -> None:
    """The newest checkpoint: the first answer is what was there already, a newer one is what was asked for."""
    saving = turn.state.saving
    if saving is None or saving.asked_at is None or turn.state.stage not in {Stage.RUNNING, Stage.LEAVING}:
        return
    if event.attempt != turn.attempt.number or not event.choice.is_trustworthy:
        return
    step = event.choice.chosen.step if event.choice.chosen else -1
    if saving.known_step is None:
        _change(turn, known_step=step)
    elif step > saving.known_step:
        _change(turn, newest_step=step, saved_at=turn.at if saving.saved_at is None else saving.saved_at)


def is_heard(turn: Turn) -> bool:
    """The script ends after its ranks were asked. What it does after a signal of its user's is its own decision."""
    saving = turn.state.saving
    return saving is not None and saving.asked_at is not None and turn.attempt.warned_at is None


def ended(turn: Turn) -> None:
    """The script has ended by itself: what it has saved decides what that means (`leaving.py`)."""
    turn.enter(Stage.LEAVING)
    turn.do(look_order(turn))


def is_to_be_stopped(turn: Turn) -> bool:
    """The checkpoint is whole, and the ranks have had time to leave: what they compute from now on is lost."""
    saving = turn.state.saving
    is_saved = saving is not None and saving.saved_at is not None and turn.at >= saving.saved_at + LEAVE_S
    return is_saved and turn.state.stage is Stage.RUNNING and _would_help(turn)


def look_order(turn: Turn) -> ChooseCheckpoint:
    """By the number of the attempt that saves: what the next one resumes from is another question."""
    return ChooseCheckpoint(attempt=turn.attempt.number, avoid=turn.state.behind.distrusted)


def _is_near(turn: Turn) -> bool:
    limit = turn.state.walltime_at
    return limit is not None and turn.at >= limit - lead_s(turn.state, turn.settings)


def _would_help(turn: Turn) -> bool:
    """Ranks that make steps could hear it, or it was said how else they are told; and another job would go on."""
    state, settings, attempt = turn.state, turn.settings, turn.state.attempt
    is_free = state.stage is Stage.RUNNING and state.halt is None and state.grace_until is None
    if (
        not is_free
        or not state.has_script
        or turn.is_observing
        or not settings.checkpoint
        or not settings.save_margin_s
    ):
        return False
    if attempt is None or attempt.is_observed or attempt.warned_at is not None:
        return False
    return attempt.step is not None or settings.save_signal != "none" or settings.save_file


def _ask_first(turn: Turn) -> None:
    left_s = (turn.state.walltime_at or turn.at) - turn.at
    turn.say(f"the time limit ends this job in {max(0.0, left_s):.0f} s: the ranks are asked to save and stop")
    _change(turn, asked_at=turn.at)
    _ask(turn)


def _ask(turn: Turn) -> None:
    _change(turn, looked_at=turn.at)
    turn.do(look_order(turn), AskSave(attempt=turn.attempt.number))


def _change(turn: Turn, **changes: Any) -> None:  # fields of Saving
    if turn.state.saving is not None:
        turn.set(saving=msgspec.structs.replace(turn.state.saving, **changes))
