"""Histograms: every interruption in exactly one row of each. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from supervisor.report.fleet.cost import Loss, loss
from supervisor.report.fleet.fold import CLASSES
from supervisor.report.fleet.model import Group, Row
from supervisor.report.fleet.mtbi import size_text
from supervisor.report.fleet.sums import Cells
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import day_text

BY: Final = ("node", "partition", "user", "size", "day", "week", "cause")
_NOT_KNOWN: Final = "unknown"
_NO_NODE: Final = "none named"


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes rows that know the whole."""

    total: int
    is_energy_known: bool

    def row(self, name: str, losses: Mapping[str, Loss], causes: tuple[Row, ...] = ()) -> Row:
        """Of what was lost by class."""
        whole = Loss()
        for one in losses.values():
            whole.add(one)
        classes = Counter({cls: one.interruptions for cls, one in losses.items()})
        return Row(
            name=name,
            interruptions=whole.interruptions,
            share=whole.interruptions / self.total if self.total else 0.0,
            by_person=whole.by_person,
            cost=whole.cost(is_energy_known=self.is_energy_known),
            classes=tuple((str(cls), classes[cls]) for cls in CLASSES if classes[cls]),
            causes=causes,
        )


def total_loss(tally: Tally) -> Loss:
    """Of all interruptions."""
    whole = Loss()
    for (_, gpus), rows in tally.causes.items():
        for cell in rows.values():
            whole.add(loss(*cell, gpus=gpus))
    return whole


def classes(tally: Tally) -> tuple[Row, ...]:
    """The four classes and `unknown`, each there, with its causes; the most frequent first."""
    rows = _rows_for(tally)
    by_cause = _gathered(tally.causes, str)
    found = []
    for cls in CLASSES:
        mine = {cause: {str(cls): losses[cls]} for cause, losses in by_cause.items() if cls in losses}
        causes = _ordered(rows.row(cause, losses) for cause, losses in mine.items())
        whole = Loss()
        for losses in mine.values():
            whole.add(losses[cls])
        found.append(rows.row(str(cls), {str(cls): whole} if mine else {}, causes))
    return _ordered(found)


def groups(tally: Tally, name_of: Callable[[str], str]) -> tuple[Group, ...]:
    """By each of `BY`; `name_of`: how a user is called in the report."""
    rows = _rows_for(tally)
    week = tally.asked.week_of

    def ordered(cells: Cells, name: Callable[[str | float], str]) -> tuple[Row, ...]:
        return _ordered(rows.row(key, losses) for key, losses in _gathered(cells, name).items())

    def in_time(name: Callable[[str | float], str]) -> tuple[Row, ...]:
        found = (rows.row(key, losses) for key, losses in _gathered(tally.days, name).items())
        return tuple(sorted(found, key=lambda row: row.name))

    by_size = _gathered(tally.sizes, lambda size: f"{int(size):09d}")
    return (
        Group(by="node", rows=ordered(tally.nodes, lambda node: str(node) or _NO_NODE)),
        Group(by="partition", rows=ordered(tally.partitions, lambda name: str(name) or _NOT_KNOWN)),
        Group(by="user", rows=ordered(tally.users, lambda user: name_of(str(user)) or _NOT_KNOWN)),
        Group(by="size", rows=tuple(rows.row(size_text(int(size)), by_size[size]) for size in sorted(by_size))),
        Group(by="day", rows=in_time(lambda day: day_text(int(day)))),
        Group(by="week", rows=in_time(lambda day: day_text(week(int(day))))),
        Group(by="cause", rows=ordered(tally.causes, str)),
    )


def _rows_for(tally: Tally) -> Rows:
    return Rows(total_loss(tally).interruptions, is_energy_known=bool(tally.measured_jobs))


def _gathered(cells: Cells, name: Callable[[str | float], str]) -> dict[str, dict[str, Loss]]:
    """By name, then by class: keys that have the same name are one."""
    found: dict[str, dict[str, Loss]] = {}
    for (cls, gpus), rows in cells.items():
        for key, cell in rows.items():
            found.setdefault(name(key), {}).setdefault(cls, Loss()).add(loss(*cell, gpus=gpus))
    return found


def _ordered(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.interruptions, -row.cost.node_h, row.name)))
