"""How much longer a step takes under supervision, from rounds that alternate in one allocation. Pure."""

import math
from collections.abc import Sequence
from statistics import mean, median, stdev
from typing import Final

from supervisor.drill.record import Paces
from supervisor.drill.suite import Pace
from supervisor.model.base import Fact

WARM_UP: Final = 20
"""Steps at the beginning of a round that do not count."""
_T95: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""Student's t for 95%, by degrees of freedom from 1; beyond the last the last."""


class PaceFound(Fact, frozen=True, kw_only=True):
    """Medians, and the ratio of the two with its interval."""

    rounds: int = 0
    plain_s: float | None = None
    ours_s: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    """The 95% interval; None with fewer than two rounds."""
    wrong: str = ""


def compare(paces: Paces, wanted: Pace) -> PaceFound:
    """What the rounds say: each is compared with its own neighbour, so that a slower hour favours nobody."""
    pairs = [
        (median(plain), median(ours))
        for plain, ours in zip(_counted(paces.plain), _counted(paces.ours), strict=False)
        if plain and ours
    ]
    if not pairs:
        return PaceFound(wrong=f"the time of a step was not measured: {paces.problem or 'no round came to its end'}")
    logs = [math.log(ours / plain) for plain, ours in pairs]
    low = high = None
    if len(logs) > 1:
        width = _T95[min(len(logs) - 1, len(_T95)) - 1] * stdev(logs) / math.sqrt(len(logs))
        low, high = math.exp(mean(logs) - width), math.exp(mean(logs) + width)
    ratio = math.exp(mean(logs))
    return PaceFound(
        rounds=len(pairs),
        plain_s=median(plain for plain, _ in pairs),
        ours_s=median(ours for _, ours in pairs),
        ratio=ratio,
        low=low,
        high=high,
        wrong=_wrong(ratio if low is None else low, wanted.most_ratio),
    )


def _counted(rounds: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    return [steps[WARM_UP:] for steps in rounds]


def _wrong(at_least: float, most: float) -> str:
    """Only what is surely too much: a machine that others use as well wanders by several percent."""
    return f"a step takes at least {at_least:.3f} times as long with us, limit {most:g}" if at_least > most else ""
