"""Histograms: every interruption in exactly one row of each. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from supervisor.report.fleet.cost import Loss, loss
from supervisor.report.fleet.fold import CLASSES
from supervisor.report.fleet.model import Group, Row
from supervisor.report.fleet.mtbi import size_text
from supervisor.report.fleet.sums import Cell, Histograms
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import day_text

BY: Final = ("node", "partition", "user", "size", "day", "week", "cause")
Cells = Iterable[tuple[str, Cell]]
"""With the name of the row that each belongs to."""
Named = Callable[[Histograms], Cells]
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
    for (_, gpus), found in tally.sums.items():
        for cell in found.causes.values():
            whole.add(loss(*cell, gpus=gpus))
    return whole


def classes(tally: Tally) -> tuple[Row, ...]:
    """The four classes and `unknown`, each there, with its causes; the most frequent first."""
    rows = _rows_for(tally)
    by_cause = _gathered(tally, _causes)
    found = []
    for cls in CLASSES:
        mine = {cause: {str(cls): losses[cls]} for cause, losses in by_cause.items() if cls in losses}
        causes = _ordered(rows.row(cause, losses) for cause, losses in mine.items())
        whole = Loss()
        for losses in mine.values():
            whole.add(losses[cls])
        found.append(rows.row(str(cls), {str(cls): whole} if mine else {}, causes))
    return _ordered(found)


def groups(tally: Tally, name_of: Callable[[str], str], by: Collection[str] = BY) -> tuple[Group, ...]:
    """By each of these; `name_of`: how a user is called in the report."""
    rows, week = _rows_for(tally), tally.asked.week_of

    def made(named: Named) -> list[Row]:
        return [rows.row(name, losses) for name, losses in _gathered(tally, named).items()]

    def in_time(named: Named) -> tuple[Row, ...]:
        return tuple(sorted(made(named), key=lambda row: row.name))

    def in_size() -> tuple[Row, ...]:
        by_size = _gathered(tally, lambda found: ((f"{size:09d}", cell) for (_, _, size), cell in found.jobs.items()))
        return tuple(rows.row(size_text(int(size)), by_size[size]) for size in sorted(by_size))

    def users(found: Histograms) -> Cells:
        return ((name_of(user) or _NOT_KNOWN, cell) for (user, _, _), cell in found.jobs.items())

    makers: dict[str, Callable[[], tuple[Row, ...]]] = {
        "node": lambda: _ordered(made(lambda found: ((node or _NO_NODE, cell) for node, cell in found.nodes.items()))),
        "partition": lambda: _ordered(made(_partitions)),
        "user": lambda: _ordered(made(users)),
        "size": in_size,
        "day": lambda: in_time(lambda found: ((day_text(int(day)), cell) for day, cell in found.days.items())),
        "week": lambda: in_time(lambda found: ((day_text(week(int(day))), cell) for day, cell in found.days.items())),
        "cause": lambda: _ordered(made(_causes)),
    }
    return tuple(Group(by=name, rows=makers[name]()) for name in BY if name in by)


def _causes(found: Histograms) -> Cells:
    return found.causes.items()


def _partitions(found: Histograms) -> Cells:
    return ((partition or _NOT_KNOWN, cell) for (_, partition, _), cell in found.jobs.items())


def _rows_for(tally: Tally) -> Rows:
    return Rows(total_loss(tally).interruptions, is_energy_known=bool(tally.measured_jobs))


def _gathered(tally: Tally, named: Named) -> dict[str, dict[str, Loss]]:
    """By name, then by class: cells that have the same name are one."""
    gathered: dict[str, dict[str, Loss]] = {}
    for (cls, gpus), found in tally.sums.items():
        for name, cell in named(found):
            gathered.setdefault(name, {}).setdefault(cls, Loss()).add(loss(*cell, gpus=gpus))
    return gathered


def _ordered(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.interruptions, -row.cost.node_h, row.name)))
