"""Two programs compared by what they cost when nothing else disturbs them: best of many against best of many.

Other processes only ever add to a cost, and by far more than what is looked for here. So the lower end of all
windows is compared, not their middle; how far that can be trusted is told by drawing the pairs of jobs anew.
"""

import random
from collections.abc import Sequence
from itertools import chain

JobPair = tuple[Sequence[float], Sequence[float]]
"""Costs of the windows of a job without us, and of one with us that ran beside it in time."""

_BEST_PART = 10
"""A tenth of the windows is better than the one that counts: the very best may be luck."""
_DRAWS = 2000
_TAIL = 0.025
"""What a 95 % interval leaves out on each side."""


def floor_ratio(pairs: Sequence[JobPair]) -> float:
    """The lower end of the costs with us divided by that without."""
    without, with_us = (_floor(list(chain.from_iterable(side))) for side in zip(*pairs, strict=True))
    return with_us / without


def interval(pairs: Sequence[JobPair]) -> tuple[float, float]:
    """The 95 % interval of this ratio; the same for the same pairs."""
    chance = random.Random(1)  # noqa: S311  # no secret
    ratios = sorted(floor_ratio(chance.choices(pairs, k=len(pairs))) for _ in range(_DRAWS))
    left_out = int(_DRAWS * _TAIL)
    return ratios[left_out], ratios[-1 - left_out]


def _floor(costs: list[float]) -> float:
    return sorted(costs)[len(costs) // _BEST_PART]
