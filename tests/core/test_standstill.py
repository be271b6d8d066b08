"""What a usual pause between beats is, and how long a standstill must last."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.standstill import LEAST_S, Intervals, is_at_work, needed_s, noted, usual_s

_SECONDS = st.floats(min_value=0.001, max_value=1000.0)
_INTERVALS = st.lists(_SECONDS, max_size=20).map(tuple)
_USUAL = st.lists(st.one_of(st.none(), _SECONDS), max_size=8)


def _after(*seconds: float, since: str = "step") -> Intervals:
    found: Intervals = ()
    for each in seconds:
        found = noted(found, since=since, seconds=each, beats=1)
    return found


def test_several_beats_at_once_share_their_time() -> None:
    """Beats are read once a second, whatever the pace of the steps."""
    assert noted((), since="step", seconds=1.0, beats=10) == (0.1,)


@pytest.mark.parametrize("phase", ["checkpoint", "eval", "idle"])
def test_what_a_save_took_is_no_step(phase: str) -> None:
    """The pause after it says nothing of steps."""
    assert _after(60.0, since=phase) == ()
    assert not is_at_work(phase)


def test_one_long_pause_is_no_habit_and_two_are() -> None:
    """A save without a word about it, every now and then, belongs to what is usual; a single one does not."""
    assert usual_s(_after(1.0, 1.0, 60.0, 1.0)) == 1.0
    assert usual_s(_after(1.0, 60.0, 1.0, 60.0)) == 60.0


def test_only_the_newest_count() -> None:
    """What was long ago is forgotten."""
    assert usual_s(_after(*[60.0] * 4, *[1.0] * 16)) == 1.0


def test_without_beats_the_full_time_is_needed() -> None:
    """Nobody has beaten, or somebody has told nothing of its pace yet."""
    assert usual_s(()) is None
    assert needed_s([], stall_s=5.0) == 5.0
    assert needed_s([0.1, None], stall_s=5.0) == 5.0


def test_the_slowest_rank_counts() -> None:
    """Three times its usual interval."""
    assert needed_s([0.1, 1.2], stall_s=5.0) == pytest.approx(3.6)


@given(_USUAL, st.floats(min_value=0.1, max_value=60.0))
def test_it_lies_between_a_second_and_the_users_limit(usual: list[float | None], stall_s: float) -> None:
    """Whatever the beats say."""
    needed = needed_s(usual, stall_s=stall_s)
    assert min(LEAST_S, stall_s) <= needed <= stall_s


@given(_USUAL, _SECONDS, st.floats(min_value=0.1, max_value=60.0))
def test_another_rank_never_makes_it_shorter(usual: list[float | None], more: float, stall_s: float) -> None:
    """But for the first, before which nothing is known."""
    if usual:
        assert needed_s([*usual, more], stall_s=stall_s) >= needed_s(usual, stall_s=stall_s)


@given(_INTERVALS, _SECONDS, st.integers(-3, 50), st.sampled_from(["step", "data", "setup", "eval"]))
def test_the_memory_is_bounded_and_holds_pauses_only(before: Intervals, took: float, beats: int, since: str) -> None:
    """At most 16, each longer than nothing, whatever the counts say."""
    after = noted(before[-16:], since=since, seconds=took, beats=beats)
    assert len(after) <= 16
    assert all(each > 0 for each in after)
    assert usual_s(after) is None or usual_s(after) in after
