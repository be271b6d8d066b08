"""How likely chance alone explains a number of incidents, and what looking at many nodes does to that. Pure.

The comparison of two Poisson counts given their sum (Przyborowski and Wilenski, Biometrika 31, 1940): where a node is
no worse than the others, each of the incidents falls on it with the probability of its share of the node time, so its
number is binomial. This is exact, and does not take the others' rate for known where few incidents are. The correction
is Holm's (Scandinavian Journal of Statistics 6, 1979): the probability to name any innocent node stays at most the
level, however the counts depend on each other (an incident on one node is none on another).
"""

import math
from collections.abc import Sequence
from typing import Final

LEVEL: Final = 0.05
_NEGLIGIBLE: Final = 1e-17


def at_least(count: int, trials: int, share: float) -> float:
    """The probability of so many or more of the trials, each of which has this probability."""
    if count <= 0 or share >= 1.0:
        return 1.0
    if count > trials or share <= 0.0:
        return 0.0
    if count <= trials * share:
        # From the other side: the first term here may be too small for a number, and the sum is not.
        return 1.0 - at_least(trials - count + 1, trials, 1.0 - share)
    odds = share / (1.0 - share)
    choices = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    term = total = math.exp(choices + count * math.log(share) + (trials - count) * math.log1p(-share))
    for number in range(count, trials):
        term *= odds * (trials - number) / (number + 1)
        total += term
        if term < total * _NEGLIGIBLE:
            break
    return min(1.0, total)


def corrected(values: Sequence[float]) -> list[float]:
    """Holm's step-down over all of them, in their order: at most the level means significant among so many looks."""
    found = [1.0] * len(values)
    worst = 0.0
    for place, index in enumerate(sorted(range(len(values)), key=lambda each: values[each])):
        worst = max(worst, min(1.0, (len(values) - place) * values[index]))
        found[index] = worst
    return found
