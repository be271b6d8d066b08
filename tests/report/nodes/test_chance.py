"""The binomial tail and Holm's correction, against what can be computed by hand."""

from itertools import pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.report.nodes.chance import at_least, corrected


@pytest.mark.parametrize("count", range(8))
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_the_tail_is_the_sum_of_its_terms(count: int, share: float) -> None:
    """On either side of the mean."""
    exact = sum(comb(7, k) * share**k * (1 - share) ** (7 - k) for k in range(count, 8))
    assert at_least(count, 7, share) == pytest.approx(exact, rel=1e-12)


def test_far_from_the_mean_it_is_no_accident_of_numbers() -> None:
    """Where the first term is too small for a number the tail is 1 and not 0, and the other way round."""
    assert at_least(10, 100_000, 0.5) == 1.0
    assert at_least(99_990, 100_000, 0.5) == 0.0
    assert at_least(3, 100_000, 1e-9) == pytest.approx(comb(100_000, 3) * 1e-27, rel=1e-3)


@pytest.mark.parametrize(("count", "trials", "share", "p"), [(0, 0, 0.5, 1), (0, 5, 0, 1), (1, 5, 0, 0), (3, 3, 1, 1)])
def test_the_ends_are_exact(count: int, trials: int, share: float, p: float) -> None:
    """No incident is no sign; an impossible one is a certain one."""
    assert at_least(count, trials, share) == p


def test_holm_by_hand() -> None:
    """The smallest is multiplied by all, the next by one fewer, and none is below one before it."""
    assert corrected([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert corrected([]) == []


@given(st.lists(st.floats(0, 1), max_size=40))
def test_a_correction_only_takes_away(values: list[float]) -> None:
    """No corrected value is below its own or above Bonferroni's, and the order stays."""
    found = corrected(values)
    assert all(p <= q <= min(1.0, len(values) * p) + 1e-12 for p, q in zip(values, found, strict=True))
    ordered = sorted(zip(values, found, strict=True))
    assert all(one[1] <= other[1] for one, other in pairwise(ordered))
