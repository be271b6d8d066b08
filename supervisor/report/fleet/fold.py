"""Interruptions become cells of histograms. Pure.

This runs a million times for a large site: plain loops over local names, and no call in them. Job by job, while what
was looked at first is still in the processor's cache.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from supervisor.model.site import SiteIncident
from supervisor.model.verdict import Class
from supervisor.report.fleet.sums import Cell, Histograms, Sums, Whose
from supervisor.report.fleet.window import DAY_S

CLASSES: Final = (Class.HARDWARE, Class.SOFTWARE, Class.NETWORK, Class.DATA, Class.UNKNOWN)
"""Of interruptions: planned stops are none."""
NO_NODE: Final = ""
"""Stands for the node of an interruption that blames none."""


def within(incidents: Sequence[SiteIncident], begin: float, until: float) -> tuple[list[SiteIncident], int]:
    """Those of the window that nobody had planned, and how many were."""
    planned_class = Class.PLANNED
    found = [one for one in incidents if begin <= one.at < until]
    real = [one for one in found if one.cls is not planned_class]
    return real, len(found) - len(real)


def fold_losses(real: Sequence[SiteIncident], gpus: int, whose: Whose, watts: float, sums: Sums) -> None:
    """Counts and losses of the interruptions of one job, added to every histogram. `watts`: of one of its nodes."""
    left = len(real)
    for cls in CLASSES:  # one by one: to look an Enum up in a table takes as long as all the rest
        mine = [one for one in real if one.cls is cls]
        if not mine:
            continue
        whole, found = 0.0, sums[str(cls), gpus]
        causes, nodes, days = found.causes, found.nodes, found.days
        begin = end = 0.0
        of_day: Cell = []
        for one in mine:
            lost, blamed = one.lost_node_s, one.nodes
            whole += lost
            cell = causes[one.cause]
            cell[0] += 1
            cell[2] += lost
            cell = nodes[blamed[0] if blamed else NO_NODE]
            cell[0] += 1
            cell[2] += lost
            if not begin <= one.at < end:  # most are of the same day as the one before
                of_day = days[one.at // DAY_S]
                begin = one.at // DAY_S * DAY_S
                end = begin + DAY_S
            of_day[0] += 1
            of_day[2] += lost
        cell = found.jobs[whose]
        cell[0] += len(mine)
        cell[2] += whole
        if watts:
            cell[3] += whole * watts
            _add_joules(mine, watts, found)
        left -= len(mine)
        if not left:
            return


def _add_joules(mine: Sequence[SiteIncident], watts: float, found: Histograms) -> None:
    """Of jobs whose energy was read."""
    causes, nodes, days = found.causes, found.nodes, found.days
    for one in mine:
        joules, blamed = one.lost_node_s * watts, one.nodes
        causes[one.cause][3] += joules
        nodes[blamed[0] if blamed else NO_NODE][3] += joules
        days[one.at // DAY_S][3] += joules


def count_persons(by_person: Iterable[SiteIncident], gpus: int, whose: Whose, sums: Sums) -> None:
    """Those that were not handled without one: there are few."""
    for one in by_person:
        found = sums[str(one.cls), gpus]
        found.causes[one.cause][1] += 1
        found.nodes[one.nodes[0] if one.nodes else NO_NODE][1] += 1
        found.days[one.at // DAY_S][1] += 1
        found.jobs[whose][1] += 1
