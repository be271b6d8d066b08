"""Ranks of values that lie in several parts."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.report.fleet.quantile import kth

_parts = st.lists(st.lists(st.floats(0, 50) | st.integers(0, 5).map(float), max_size=40).map(sorted), max_size=5)


@given(_parts)
def test_every_rank_is_that_of_all_together(parts: list[list[float]]) -> None:
    """Exactly, with empty parts and values that are alike."""
    assert [kth(parts, k) for k in range(sum(map(len, parts)))] == sorted(chain(*parts))


@pytest.mark.parametrize("k", [-1, 3])
def test_a_rank_that_is_not_there(k: int) -> None:
    """Three values have no fourth."""
    with pytest.raises(IndexError):
        kth([[1.0, 3.0], [2.0]], k)
