"""Whether a script ended because of a signal that was passed on to it."""

from typing import Final

from supervisor.core import watch
from supervisor.core.turn import Turn

_ANSWER_S: Final = 900.0
"""A script that ends later than this after a signal does not end because of it: some save a checkpoint at USR1 and go
on for hours."""


def is_answer_to_signal(turn: Turn) -> bool:
    """A warning before the time limit, or the user's own signal: how the script ends after it is its own decision."""
    attempt = turn.attempt
    if attempt.warned_at is None or turn.at - attempt.warned_at > _ANSWER_S or watch.lost_of_attempt(turn):
        return False
    return attempt.failed_at is None or attempt.failed_at >= attempt.warned_at
