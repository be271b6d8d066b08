"""The last act: the exit status, the last words, nothing after it."""

from supervisor.core import incident, standby
from supervisor.core.cause import SIGTERM
from supervisor.core.instructions import Finish
from supervisor.core.state import Exit, Stage
from supervisor.core.turn import Turn
from supervisor.model.job_comment import comment


def finish(
    turn: Turn, *, words: str, handed_over: bool = False, is_ended_by_term: bool = False, is_told: bool = False
) -> None:
    """End the job with the user's last exit status and these last words.

    `handed_over`: another job goes on with the run. `is_ended_by_term`: somebody ended the job from outside.
    `is_told`: the job's output says it already.
    """
    if handed_over:
        incident.leave_open(turn)
    else:
        incident.close(turn)
    standby.take_away(turn, handed_over=handed_over)
    status = _status(turn, is_ended_by_term=is_ended_by_term)
    order = Finish(code=1 if handed_over else status.code, signal=None if handed_over else status.signal)
    told = comment(words, turn.state.marks)
    order = Finish(code=order.code, signal=order.signal, handed_over=handed_over, reason=words, comment=told)
    turn.enter(Stage.FINISHED)
    turn.set(finish=order)
    if not is_told and (turn.state.behind.incidents or order.code != 0):
        # A run that nothing happened to prints what it would print without us, to the byte.
        turn.say(words)
    turn.do(order)


def _status(turn: Turn, *, is_ended_by_term: bool) -> Exit:
    """The script's own last status. What our own stop did to it is no success, and for a cancel what Slurm shows."""
    attempt = turn.state.attempt
    is_own = attempt is not None and attempt.exit is not None and not attempt.is_stopping
    if is_own and attempt is not None and attempt.exit is not None:
        return attempt.exit
    if attempt is not None and attempt.is_stopping and attempt.failed_code:
        return Exit(code=attempt.failed_code)
    if is_ended_by_term:
        return Exit(signal=SIGTERM)
    if attempt is None or attempt.exit is None or attempt.exit.is_good:
        return Exit(code=1)
    return attempt.exit
