"""The first line: OK or NOT OK, what blocks, and which nodes to look at first. Pure.

NOT OK is one of these, and nothing else: effective training time fell three windows in a row; a run waits for a
person after a fault of the machine, or after one that nobody knows; in a user's own runs: any run waits; more jobs
cannot be believed than can.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.model.verdict import Class
from supervisor.report.fleet.fold import CLASSES, NO_NODE
from supervisor.report.fleet.model import Ettr, Row, Source, Waiting
from supervisor.report.fleet.sums import Sums
from supervisor.report.fleet.wording import many, percent
from supervisor.report.words import names

_MACHINE: Final = frozenset({Class.HARDWARE, Class.NETWORK})
_OF_SITE: Final = frozenset({*_MACHINE, Class.UNKNOWN})
_AGAIN: Final = 2
_SHOWN_NODES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The decision."""

    is_ok: bool
    text: str
    blockers: tuple[str, ...]


def conclude(
    *,
    source: Source,
    scope: str,
    interruptions: int,
    handled: int,
    not_over: int,
    ettr: Ettr,
    waiting: Sequence[Waiting],
    classes: Sequence[Row],
    look_first: Sequence[str],
    jobs: int,
    untrusted: int,
) -> Said:
    """What there is to say. `scope`: `212 jobs`; empty: none are known. `untrusted`: jobs that count in nothing."""
    mine = [one for one in waiting if source == "runs" or one.cls in _OF_SITE]
    what = "run" if source == "runs" else "job"
    blockers = (*_trend(ettr, classes), *_stops(mine, source), *_doubts(untrusted, jobs))
    if not scope and not blockers:
        return Said(is_ok=True, text=f"OK: nothing to report, no {what}s are known in this time.", blockers=())
    if blockers:
        look = f" Look at {names(look_first)} first." if look_first else ""
        return Said(is_ok=False, text=f"NOT OK: {'; '.join(blockers)}.{look}", blockers=blockers)
    if not interruptions:
        return Said(is_ok=True, text=f"OK: no interruptions in {scope}.", blockers=())
    rest = len(waiting)
    by_users = f", {many(rest, 'run')} {'waits' if rest == 1 else 'wait'} for {'its' if rest == 1 else 'their'} user"
    how = handled_text(handled, not_over, interruptions)
    text = f"OK: {many(interruptions, 'interruption')} in {scope}, {how}{by_users if rest else ''}."
    return Said(is_ok=True, text=text, blockers=())


def handled_text(handled: int, not_over: int, interruptions: int) -> str:
    """`38 handled without a person, 1 not over yet`."""
    how = "all" if handled == interruptions else f"{handled:,}"
    return f"{how} handled without a person{f', {not_over:,} not over yet' if not_over else ''}"


def look_first(sums: Sums) -> tuple[str, ...]:
    """Nodes to blame for more than one interruption by hardware or network: one alone can be anybody's."""
    found: Counter[str] = Counter()
    for (cls, _), rows in sums.items():
        if cls in _MACHINE:
            found.update({node: int(cell[0]) for node, cell in rows.nodes.items() if node != NO_NODE})
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple(name for name, number in ordered[:_SHOWN_NODES] if number >= _AGAIN)


def _trend(ettr: Ettr, classes: Sequence[Row]) -> tuple[str, ...]:
    if not ettr.is_escalated:
        return ()
    falls = len(ettr.falling) - 1
    ratios = " -> ".join(percent(ratio) for ratio in ettr.falling)
    of_class = {row.name: row.interruptions for row in classes}
    mix = ", ".join(f"{cls} {of_class.get(cls, 0)}" for cls in CLASSES)
    return (f"effective training time fell {falls} {ettr.window}s in a row ({ratios}), a person should look ({mix})",)


def _stops(mine: Sequence[Waiting], source: Source) -> tuple[str, ...]:
    if not mine:
        return ()
    look = "`supervise why` each: " if source == "runs" else ""
    who = [one.run if source == "runs" else f"job {one.job} ({one.cls}/{one.cause})" for one in mine]
    return (f"{many(len(mine), 'run')} {'needs' if len(mine) == 1 else 'need'} a person: {look}{names(who)}",)


def _doubts(untrusted: int, jobs: int) -> tuple[str, ...]:
    """A ledger whose owners do not agree with its names (a machine that knows no users, a forger) is not quiet."""
    if untrusted <= jobs:
        return ()
    more = f" and {jobs:,} can" if jobs else ""
    return (f"{many(untrusted, 'job')} cannot be believed{more}: owners of files do not agree with the names in them",)
