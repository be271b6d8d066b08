"""How long parts of interruptions took, each where it was measured. Pure."""

from collections.abc import Sequence
from typing import Final

from supervisor.model.site import SiteIncident
from supervisor.report.fleet.durations import LONGEST_S
from supervisor.report.fleet.sums import PARTS, Times

_ENOUGH: Final = 128
"""Interruptions of a batch: small jobs together, and a large one while it is still in the processor's cache."""


class Measured:
    """Takes the interruptions of one job after the other."""

    def __init__(self, times: Times) -> None:
        """What they are added to."""
        self._times = times
        self._next: list[SiteIncident] = []

    def add(self, real: Sequence[SiteIncident]) -> None:
        """Those of one more job."""
        self._next += real
        if len(self._next) >= _ENOUGH:
            self.end()

    def end(self) -> None:
        """There are no more; what was added is in the times."""
        real, splits, times = self._next, [one.split for one in self._next], self._times
        self._next = []
        times.detect.update([value for one in splits if (value := one.detect) is not None])
        times.isolate.update([value for one in splits if (value := one.collect) is not None])
        times.recover.update([value for one in real if (value := one.recovery_s) is not None])
        parts = (
            [value for one in splits if (value := one.decide)],
            [value for one in splits if (value := one.stop)],
            [value for one in splits if (value := one.launch)],
            [value for one in splits if (value := one.init)],
            [value for one in splits if (value := one.catch_up)],
        )
        for name, seconds in zip(PARTS, parts, strict=True):
            times.parts[name] += _sum(seconds)
        times.isolated_to.update([one.isolation for one in real])


def _sum(seconds: Sequence[float]) -> float:
    """Without what cannot be: that is rare, and only then each is looked at."""
    whole = sum(seconds)
    return whole if 0.0 <= whole < LONGEST_S else sum(value for value in seconds if 0.0 <= value < LONGEST_S)
