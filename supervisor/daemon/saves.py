"""How long saves take, by a rank's beats: from the first one of phase `checkpoint` to one of another. Pure."""

from typing import Final

from supervisor.daemon.stall import Seen
from supervisor.model.wire import RankBeat

_SAVE: Final = "checkpoint"
_GAP_S: Final = 3.0
"""Beats come once a second."""
_FURTHER_S: Final = 0.5
"""A save is told where it took so much longer than all before: beats are read once a second."""


def since(known: Seen | None, beat: RankBeat, moved_at: float) -> float | None:
    """When the save began that the rank is in now; None: it is in none."""
    if beat.phase != _SAVE:
        return None
    is_same = known is not None and known.beat.pid == beat.pid and known.beat.step == beat.step
    return known.saving_since if is_same and known and known.saving_since is not None else moved_at


def took_s(known: Seen | None, beat: RankBeat, moved_at: float, now: float) -> float:
    """How long the save took that has ended by this beat, at most; 0: none has, or nobody looked when it ended."""
    if known is None or known.saving_since is None or known.beat.pid != beat.pid or beat.phase == _SAVE:
        return 0.0
    return max(0.0, moved_at - known.saving_since) if now - known.seen_at <= _GAP_S else 0.0


def is_news(seconds: float, longest_s: float) -> bool:
    """Whether it is worth an event of its own."""
    return seconds >= longest_s + _FURTHER_S
