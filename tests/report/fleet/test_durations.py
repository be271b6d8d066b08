"""Ranks among durations that are counted by their value."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.report.fleet.durations import LONGEST_S, Durations, Ranks

_parts = st.lists(st.lists(st.floats(0, 50) | st.integers(0, 5).map(float), max_size=40), max_size=5)


@given(_parts)
def test_every_rank_is_that_of_all_together(parts: list[list[float]]) -> None:
    """Exactly, in whatever parts they were counted, with values that are alike."""
    found = Durations()
    for part in parts:
        found.update(Durations(part))
    ranks = Ranks.of(found)
    assert [ranks.kth(k) for k in range(len(ranks))] == sorted(chain(*parts))


@pytest.mark.parametrize("k", [-1, 3])
def test_a_rank_that_is_not_there(k: int) -> None:
    """Three values have no fourth."""
    with pytest.raises(IndexError):
        Ranks.of(Durations([1.0, 3.0, 2.0])).kth(k)


def test_what_cannot_be_has_no_rank() -> None:
    """Before the beginning, or longer than any recovery."""
    ranks = Ranks.of(Durations([-1.0, 0.0, LONGEST_S, 2.0, 2.0]))
    assert [ranks.kth(k) for k in range(len(ranks))] == [0.0, 2.0, 2.0]
    assert len(Ranks.of(Durations([LONGEST_S]))) == 0
