"""How long parts of interruptions took, each where it was measured. Pure."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Final

from supervisor.model.site import SiteIncident
from supervisor.report.fleet.sums import LONGEST_S, PARTS, Times

_ENOUGH: Final = 128
"""Interruptions of a batch: small jobs together, and a large one while it is still in the processor's cache."""


class Measured:
    """Takes the interruptions of one job after the other."""

    def __init__(self, times: Times) -> None:
        """What they are added to."""
        self._times = times
        # Values side by side: to sort numbers that lie all over the memory takes twice as long.
        self._detect, self._isolate, self._recover = array("d"), array("d"), array("d")
        self._next: list[SiteIncident] = []

    def add(self, real: Sequence[SiteIncident]) -> None:
        """Those of one more job."""
        self._next += real
        if len(self._next) >= _ENOUGH:
            self._take()

    def end(self) -> None:
        """There are no more."""
        self._take()
        self._times.detect.take(self._detect)
        self._times.isolate.take(self._isolate)
        self._times.recover.take(self._recover)

    def _take(self) -> None:
        real, splits, times = self._next, [one.split for one in self._next], self._times
        self._next = []
        self._detect.extend([value for one in splits if (value := one.detect) is not None])
        self._isolate.extend([value for one in splits if (value := one.collect) is not None])
        self._recover.extend([value for one in real if (value := one.recovery_s) is not None])
        parts = (
            [value for one in splits if (value := one.decide)],
            [value for one in splits if (value := one.stop)],
            [value for one in splits if (value := one.launch)],
            [value for one in splits if (value := one.init)],
            [value for one in splits if (value := one.catch_up)],
        )
        for name, seconds in zip(PARTS, parts, strict=True):
            times.parts[name] += _sum(seconds)
        _count([one.isolation for one in real], times.isolated_to)


def _count(words: list[str], counts: Counter[str]) -> None:
    """Word by word: there are four, and to look each of a million up takes three times as long."""
    while words:
        word = words[0]
        counts[word] += words.count(word)
        words = [each for each in words if each != word]


def _sum(seconds: Sequence[float]) -> float:
    """Without what cannot be: that is rare, and only then each is looked at."""
    whole = sum(seconds)
    return whole if 0.0 <= whole < LONGEST_S else sum(value for value in seconds if 0.0 <= value < LONGEST_S)
