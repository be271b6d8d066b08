"""Time for decisions: seconds since the epoch that never step back within one process."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the epoch, steady."""


def steady_clock() -> Clock:
    """Wall time at the start plus monotonic time since: a clock set back by an admin fools no deadline."""
    offset = time.time() - time.monotonic()
    return lambda: time.monotonic() + offset
