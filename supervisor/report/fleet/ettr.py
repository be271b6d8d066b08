"""How much of the time that was held brought training further, how that changes, and when a person must look. Pure.

ETTR, the effective training time ratio, as ByteRobust (arXiv 2509.16293) and Meta's study of its research clusters
(arXiv 2410.21680) have it: productive time over the time that a run had its nodes. Here both are node time: held are
all nodes of the allocation, spares too, and computing those whose ranks made steps that the run had not made before;
where no steps are told, those with ranks running. Time in the queue is in neither.
"""

from collections.abc import Callable, Mapping
from typing import Final

from supervisor.report.fleet.cost import HOUR_S, KWH_J
from supervisor.report.fleet.model import Ettr, RunEttr, WindowEttr
from supervisor.report.fleet.sums import RunSum, Use
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import Asked

FALLS: Final = 3
"""So many windows in a row lower than the one before: a person should look."""
_SHOWN_RUNS: Final = 10
_COMPARABLE: Final = 0.1
"""Of the fullest window: one that held less tells nothing beside it."""
_DIGITS: Final = 3
"""A fall is one of a tenth of a percent at least: as it is printed."""


def ettr(tally: Tally, name_of: Callable[[str], str], *, is_at_most: bool) -> Ettr:
    """Of the fleet and of the runs that leave most unused."""
    windows = _windows(tally.windows, tally.asked)
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


def _lowest(runs: Mapping[str, RunSum], name_of: Callable[[str], str]) -> tuple[RunEttr, ...]:
    known = [(run, found) for run, found in runs.items() if found.use.held_s > 0]
    known.sort(key=lambda item: (item[1].use.computing_s - item[1].use.held_s, item[0]))
    return tuple(
        RunEttr(
            run=run,
            job=found.job,
            user=name_of(found.user),
            ettr=found.use.ratio or 0.0,
            held_node_h=found.use.held_s / HOUR_S,
            interruptions=found.use.interruptions,
        )
        for run, found in known[:_SHOWN_RUNS]
    )
