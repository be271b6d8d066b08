"""Exact intervals for small numbers: Poisson counts (Garwood 1936) and shares (Wilson 1927). Pure.

Garwood's bounds are quantiles of the gamma distribution (those of chi-square, halved); no library of statistics is
needed for them: the incomplete gamma function by its series and its continued fraction (Press et al., Numerical
Recipes, 6.2), and bisection.
"""

import math
from typing import Final

LEVEL: Final = 0.95
_Z: Final = 1.959963984540054
"""Quantile 0.975 of the normal distribution."""
_LARGE: Final = 2000.0
"""From here on Wilson and Hilferty's cube root (1931) is right to seven digits."""
_STEPS: Final = 10_000
_TINY: Final = 1e-300
_EPSILON: Final = 1e-14


def poisson_bounds(count: int) -> tuple[float, float]:
    """Between which numbers the mean of a Poisson count lies with 95% confidence, when `count` was seen."""
    tail = (1.0 - LEVEL) / 2.0
    low = gamma_quantile(tail, float(count)) if count else 0.0
    return low, gamma_quantile(1.0 - tail, count + 1.0)


def share_bounds(count: int, total: int) -> tuple[float, float]:
    """Between which shares the true one lies with 95% confidence, when `count` of `total` were seen."""
    if not total:
        return 0.0, 1.0
    share, square = count / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def gamma_quantile(probability: float, shape: float) -> float:
    """Where the gamma distribution of this shape and scale 1 has this probability below it."""
    guess = _wilson_hilferty(probability, shape)
    if shape >= _LARGE:
        return guess
    low, high = 0.0, max(2.0 * guess, shape + 10.0 * math.sqrt(shape) + 10.0)
    while high - low > _EPSILON * high * 100:
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if gamma_below(middle, shape) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def gamma_below(value: float, shape: float) -> float:
    """The probability of at most this value: the regularised incomplete gamma function P."""
    if value <= 0.0:
        return 0.0
    front = math.exp(shape * math.log(value) - value - math.lgamma(shape))
    if value < shape + 1.0:
        return front * _series(value, shape)
    return 1.0 - front * _fraction(value, shape)


def _series(value: float, shape: float) -> float:
    term = total = 1.0 / shape
    for step in range(1, _STEPS):
        term *= value / (shape + step)
        total += term
        if term < total * _EPSILON:
            break
    return total


def _fraction(value: float, shape: float) -> float:
    """Lentz's way to the continued fraction."""
    b = value + 1.0 - shape
    c = 1.0 / _TINY
    d = 1.0 / (b or _TINY)
    result = d
    for step in range(1, _STEPS):
        factor = -step * (step - shape)
        b += 2.0
        d = 1.0 / (factor * d + b or _TINY)
        c = b + factor / c or _TINY
        result *= d * c
        if abs(d * c - 1.0) < _EPSILON:
            break
    return result


def _wilson_hilferty(probability: float, shape: float) -> float:
    z = _Z if probability > 0.5 else -_Z  # noqa: PLR2004  # the two tails of 95%
    ninth = 1.0 / (9.0 * shape)
    return float(shape * max(0.0, 1.0 - ninth + z * math.sqrt(ninth)) ** 3)
