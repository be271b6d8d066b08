"""How much of the time that was held brought training further, how that changes, and when a person must look. Pure.

ETTR, the effective training time ratio, as ByteRobust (arXiv 2509.16293) and Meta's study of its research clusters
(arXiv 2410.21680) have it: productive time over the time that a run had its nodes. Here both are node time: held are
all nodes of the allocation, spares too, and computing those whose ranks made steps that the run had not made before;
where no steps are told, those with ranks running. Time in the queue is in neither.
"""

from collections.abc import Callable, Mapping
from heapq import nsmallest
from typing import Final

from supervisor.report.fleet.cost import HOUR_S, KWH_J
from supervisor.report.fleet.model import Ettr, RunEttr, WindowEttr
from supervisor.report.fleet.sums import RunKey, RunSum, Use
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import Asked

FALLS: Final = 3
"""So many windows in a row lower than the one before: a person should look."""
_SHOWN_RUNS: Final = 10
_COMPARABLE: Final = 0.1
"""Of the fullest window: one that held less tells nothing beside it."""
_DIGITS: Final = 3
"""A fall is one of a tenth of a percent at least: as it is printed."""


def ettr(tally: Tally, name_of: Callable[[str], str], *, is_at_most: bool, read_since: float | None) -> Ettr:
    """Of the fleet and of the runs that leave most unused. `read_since`: of older jobs the source told none.

    Of a window that begins before, it told the jobs alone that went on for long: no comparison with later ones.
    """
    asked = tally.asked
    known = {
        index: use
        for index, use in tally.trend.windows.items()
        if read_since is None or asked.begins_at(index) >= read_since
    }
    windows = _windows(known, asked)
    falling = _falling([window.ettr for window in windows])
    return Ettr(
        ratio=tally.use.ratio,
        computing_node_h=tally.use.computing_s / HOUR_S,
        held_node_h=tally.use.held_s / HOUR_S,
        held_gpu_h=tally.held_gpu_s / HOUR_S,
        energy_kwh=tally.energy_j / KWH_J if tally.measured_jobs else None,
        is_at_most=is_at_most,
        window=tally.asked.step,
        windows=windows,
        falling=falling,
        is_escalated=len(falling) > FALLS,
        lowest=_lowest(tally.runs, name_of),
    )


def _windows(found: Mapping[int, Use], asked: Asked) -> tuple[WindowEttr, ...]:
    fullest = max((use.held_s for use in found.values()), default=0.0)
    last = max(found, default=-1)
    return tuple(
        WindowEttr(
            begins_at=asked.begins_at(index),
            ettr=use.ratio if use.held_s >= _COMPARABLE * fullest else None,
            held_node_h=use.held_s / HOUR_S,
        )
        for index in range(last, -1, -1)
        for use in [found.get(index, Use())]
    )


def _falling(ratios: list[float | None]) -> tuple[float, ...]:
    """From the newest window back as long as each is lower than the one before it."""
    found: list[float] = []
    for ratio in reversed(ratios):
        if ratio is None or (found and round(ratio, _DIGITS) <= round(found[-1], _DIGITS)):
            break
        found.append(ratio)
    return tuple(reversed(found)) if len(found) > 1 else ()


def _lowest(runs: Mapping[RunKey, RunSum], name_of: Callable[[str], str]) -> tuple[RunEttr, ...]:
    known = [(key, found) for key, found in runs.items() if found.held_s > 0]
    known = nsmallest(_SHOWN_RUNS, known, key=lambda item: (item[1].computing_s - item[1].held_s, item[0][::-1]))
    return tuple(
        RunEttr(
            run=key[2],
            job=found.job,
            user=name_of(found.user),
            ettr=found.ratio or 0.0,
            held_node_h=found.held_s / HOUR_S,
            interruptions=found.interruptions,
        )
        for key, found in known
    )
