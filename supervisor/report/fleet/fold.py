"""The interruptions of one job, gone over once. Pure.

This runs a million times for a large site: plain loops over local names, and no call in them.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from supervisor.model.records import Split
from supervisor.model.site import SiteIncident
from supervisor.model.verdict import Class
from supervisor.report.fleet.sums import LONGEST_S, PARTS, Cell, Cells, Times, new_cell
from supervisor.report.fleet.window import DAY_S

UNHANDLED: Final = frozenset({"stop", "observe"})
"""Actions that leave the rest to a person."""
BY_PERSON: Final = UNHANDLED | {"none"}
"""Those, and none at all: whoever should have acted died first, or the job was cancelled before the verdict."""
CLASSES: Final = (Class.HARDWARE, Class.SOFTWARE, Class.NETWORK, Class.DATA, Class.UNKNOWN)
"""Of interruptions: planned stops are none."""
NO_NODE: Final = ""
"""Stands for the node of an interruption that blames none."""


Causes = dict[str, dict[str, Cell]]
"""Of one job, by class and cause."""


def within(incidents: Sequence[SiteIncident], begin: float, until: float) -> tuple[list[SiteIncident], int]:
    """Those of the window that nobody had planned, and how many were."""
    planned_class = Class.PLANNED
    found = [one for one in incidents if begin <= one.at < until]
    real = [one for one in found if one.cls is not planned_class]
    return real, len(found) - len(real)


def fold_losses(real: Sequence[SiteIncident], nodes: Cells, days: Cells, *, gpus: int, watts: float) -> Causes:
    """Counts and losses, added to those by node and by day (since the epoch), and given back by cause.

    A job has few causes, but nearly each of its interruptions has a node of its own.
    """
    causes: Causes = {}
    for cls in CLASSES:  # one by one: to look an Enum up in a table takes as long as all the rest
        mine = [one for one in real if one.cls is cls]
        if not mine:
            continue
        name = str(cls)
        of_cause = causes[name] = defaultdict(new_cell)
        of_node, of_day = nodes[name, gpus], days[name, gpus]
        for one in mine:
            lost, blamed = one.lost_node_s, one.nodes
            energy = lost * watts
            by_cause, by_day = of_cause[one.cause], of_day[one.at // DAY_S]
            by_node = of_node[blamed[0] if blamed else NO_NODE]
            by_cause[0] += 1
            by_cause[2] += lost
            by_cause[3] += energy
            by_node[0] += 1
            by_node[2] += lost
            by_node[3] += energy
            by_day[0] += 1
            by_day[2] += lost
            by_day[3] += energy
            if one.action in BY_PERSON:
                by_cause[1] += 1
                by_node[1] += 1
                by_day[1] += 1
    return causes


def fold_times(real: Sequence[SiteIncident], times: Times) -> None:
    """Durations, each where it was measured; `Times.sort` drops those that cannot be."""
    splits = [one.split for one in real]
    times.detect.extend([value for one in splits if (value := one.detect) is not None])
    times.isolate.extend([value for one in splits if (value := one.collect) is not None])
    times.recover.extend([value for one in real if (value := one.recovery_s) is not None])
    sums = (
        sum([value for one in splits if (value := one.decide)]),
        sum([value for one in splits if (value := one.stop)]),
        sum([value for one in splits if (value := one.launch)]),
        sum([value for one in splits if (value := one.init)]),
        sum([value for one in splits if (value := one.catch_up)]),
    )
    for name, seconds in zip(PARTS, sums, strict=True):
        # One part that cannot be is rare: only then each is looked at.
        times.parts[name] += seconds if 0.0 <= seconds < LONGEST_S else _possible(splits, name)
    times.isolated_to.update([one.isolation for one in real])


def _possible(splits: Sequence[Split], name: str) -> float:
    values: list[float | None] = [getattr(one, name) for one in splits]
    return sum(value for value in values if value is not None and 0.0 <= value < LONGEST_S)
