"""How long the other ranks must stand still after one has died: learned from this attempt's own beats. Pure."""

from collections.abc import Iterable
from typing import Final

Intervals = tuple[float, ...]
"""Seconds between a rank's beats, the newest last."""

LEAST_S: Final = 1.0
"""Beats are read once a second: what happens within one second is not seen."""
_TIMES: Final = 3.0
"""So many times as long as usual is no slow step any more."""
_KEPT: Final = 16
_MANY: Final = 4
"""Of so many the longest is forgotten: one save or one slow start is no habit, two are."""
_AT_WORK: Final = frozenset({"data", "step"})
_OWN_TIME: Final = frozenset({"checkpoint", "eval", "idle"})


def is_at_work(phase: str) -> bool:
    """In this phase beats come at the pace of steps; a save or an evaluation takes its own time."""
    return phase in _AT_WORK


def noted(intervals: Intervals, *, since: str, seconds: float, beats: int) -> Intervals:
    """The intervals with a new one: so many beats have come in so many seconds since one of the phase `since`.

    What a save or an evaluation took is left out. A start counts in: it only makes the first interval longer.
    """
    if beats <= 0 or seconds <= 0 or since in _OWN_TIME:
        return intervals
    return (*intervals, seconds / beats)[-_KEPT:]


def usual_s(intervals: Intervals) -> float | None:
    """The longest of a rank's usual intervals; None: none is known yet."""
    if not intervals:
        return None
    return sorted(intervals)[-2 if len(intervals) >= _MANY else -1]


def needed_s(usual: Iterable[float | None], *, stall_s: float) -> float:
    """How long ranks with these usual intervals must stand still: `stall_s`, or less where all of them are known."""
    known = tuple(usual)
    longest = 0.0
    for each in known:
        if each is None:
            return stall_s
        longest = max(longest, each)
    return min(stall_s, max(LEAST_S, _TIMES * longest)) if known else stall_s
