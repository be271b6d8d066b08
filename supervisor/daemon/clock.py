"""Time for decisions: seconds since the epoch that never step back within one process."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the epoch, steady."""


def steady_clock(*, after: float = 0.0) -> Clock:
    """Wall time at the start plus monotonic time since: a clock set back by an admin fools no deadline.

    `after`: what the run's log ends with. A clock that was set back before this process began, or that of another node,
    must not make it wait until that moment comes again.
    """
    offset = max(time.time(), after) - time.monotonic()
    return lambda: time.monotonic() + offset
