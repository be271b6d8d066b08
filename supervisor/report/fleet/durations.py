"""Durations, counted by their value, and the ranks among them. Pure.

Records tell milliseconds: a million of them have some ten thousand values, which are fewer to sort and to hand over.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

LONGEST_S: Final = 1e7
"""Four months: what claims to have taken longer is no measurement."""

Durations = Counter[float]
"""Seconds, and how often each was measured."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Values in their order."""

    values: list[float] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """How many are up to each value."""

    @classmethod
    def of(cls, found: Durations) -> "Ranks":
        """Without what cannot be."""
        values = sorted(found)
        values = values[bisect_left(values, 0.0) : bisect_left(values, LONGEST_S)]
        return cls(values, list(accumulate([found[value] for value in values])))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def kth(self, k: int) -> float:
        """The k-th smallest, counted from 0. Raises `IndexError` where there are not so many."""
        if k < 0:
            raise IndexError(k)
        return self.values[bisect_right(self.ends, k)]
