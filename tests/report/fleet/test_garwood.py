"""Exact intervals, held against published tables and against definition."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.report.fleet.garwood import gamma_below, gamma_quantile, poisson_bounds, share_bounds


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        (0, 0.0, 3.689),
        (1, 0.0253, 5.572),
        (2, 0.242, 7.225),
        (3, 0.619, 8.767),
        (5, 1.624, 11.668),
        (10, 4.795, 18.390),
        (20, 12.217, 30.888),
        (50, 37.111, 65.919),
        (100, 81.364, 121.627),
    ],
)
def test_the_bounds_of_a_count_are_those_of_the_tables(count: int, low: float, high: float) -> None:
    """95% limits for a Poisson mean, as printed in tables of medical statistics."""
    assert poisson_bounds(count) == pytest.approx((low, high), abs=6e-4)


@settings(deadline=None)
@given(st.integers(1, 1900))
def test_a_quantile_has_its_probability_below_it(count: int) -> None:
    """By definition: both ways agree."""
    low, high = poisson_bounds(count)
    assert gamma_below(low, count) == pytest.approx(0.025, abs=1e-9)
    assert gamma_below(high, count + 1) == pytest.approx(0.975, abs=1e-9)


def test_the_short_way_for_large_counts_goes_on_where_the_exact_one_ends() -> None:
    """No step at the border."""
    exact, short = gamma_quantile(0.975, 1999.9), gamma_quantile(0.975, 2000.1)
    assert short - exact == pytest.approx(0.2, abs=0.01)
    assert gamma_below(short, 2000.1) == pytest.approx(0.975, abs=1e-5)


@settings(deadline=None)
@given(st.integers(0, 10**7))
def test_an_interval_contains_its_count(count: int) -> None:
    """And both ends are numbers."""
    low, high = poisson_bounds(count)
    assert low <= count <= high
    assert math.isfinite(high)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_the_interval_of_a_share_contains_it(count: int, total: int) -> None:
    """And never leaves 0 to 1."""
    count = min(count, total)
    low, high = share_bounds(count, total)
    assert 0.0 <= low <= count / total <= high <= 1.0


def test_the_bounds_of_a_share_are_wilsons() -> None:
    """Two of ten; and nothing known of none."""
    assert share_bounds(2, 10) == pytest.approx((0.0567, 0.5098), abs=1e-4)
    assert share_bounds(0, 0) == (0.0, 1.0)
