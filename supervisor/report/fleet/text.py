"""The report for a terminal: at most 100 columns, bars, colour where it is wanted. Pure.

Names come from Slurm and from records that anybody may have written: nothing but printable characters gets through.
"""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from supervisor.report.fleet.model import FleetReport, Group, Interruption, Row, Spread
from supervisor.report.fleet.wording import cost, energy, hours, many, number, per, percent
from supervisor.report.words import clock, duration, one_line, table

WIDTH: Final = 100
_BAR: Final = 20
_CAUSES: Final = 3
_ROWS: Final = 20
_TELLING: Final = 0.05
"""A difference of five points in a hundred is worth a word."""
_COLOURS: Final[Mapping[str, str]] = {
    "hardware": "\x1b[31m",
    "software": "\x1b[33m",
    "network": "\x1b[36m",
    "data": "\x1b[35m",
    "unknown": "\x1b[37m",
    "NOT OK": "\x1b[1;31m",
    "OK": "\x1b[1;32m",
}
_PLAIN: Final = "\x1b[0m"
_TABLE_HEAD: Final = ("TIME", "JOB", "CAUSE", "WHERE", "DETECTED", "RECOVERED", "ACTION")


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How it is shown."""

    now: float
    colour: bool = False
    by: str = ""
    """A further histogram, one of `classes.BY`."""

    def paint(self, text: str, what: str) -> str:
        """In the colour of a class or of the conclusion."""
        return f"{_COLOURS[what]}{text}{_PLAIN}" if self.colour and what in _COLOURS else text


def text(report: FleetReport, style: Style) -> str:
    """All lines."""
    lines = [*_head(report, style)]
    if report.jobs:
        lines += [*_classes(report, style), *_blind_spot(report), *_measures(report), *_comparison(report)]
        lines += _next_step(report)
        if style.by:
            group = next(group for group in report.groups if group.by == style.by)
            lines += ["", *_group(group, style)]
        lines += _single(report, style)
    else:
        lines += _blind_spot(report)
    return "\n".join(lines)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(one_line(line, 4000), WIDTH, subsequent_indent="  ", break_on_hyphens=False) or [""]


def _head(report: FleetReport, style: Style) -> Iterator[str]:
    first, *rest = _wrapped(report.conclusion)
    word = "NOT OK" if first.startswith("NOT OK") else "OK"
    yield style.paint(word, word) + first.removeprefix(word)
    yield from rest
    if not report.interruptions:
        return
    parts = [many(report.interruptions, "interruption"), many(report.jobs, "job")]
    if report.handled_share is not None:
        parts.append(f"{report.handled:,} handled without a person ({percent(report.handled_share)})")
    if report.not_over:
        parts.append(f"{report.not_over:,} not over yet")
    if report.unknown_share is not None:
        parts.append(f"{report.unknown:,} unknown ({percent(report.unknown_share)})")
    yield from _wrapped(", ".join(parts))


def _next_step(report: FleetReport) -> Iterator[str]:
    """A place to begin, and who weighs it: a node of many jobs is blamed more often, whatever its health."""
    if report.look_first:
        yield from _wrapped(
            f"suspicious nodes: {', '.join(report.look_first)}; `supervise nodes` weighs each against chance"
        )


def _classes(report: FleetReport, style: Style) -> Iterator[str]:
    rows = [row for row in report.classes if row.interruptions]
    yield from _bars(rows, style, [_causes(row) for row in rows])


def _bars(rows: list[Row], style: Style, tails: list[str]) -> Iterator[str]:
    """One bar each, the longest as long as there is room."""
    most = max((row.interruptions for row in rows), default=1)
    names = [one_line(row.name, 24) for row in rows]
    widths = max(map(len, names), default=0), max((len(f"{row.interruptions:,}") for row in rows), default=0)
    costs = [cost(row.cost) for row in rows]
    wide = max(map(len, costs), default=0)
    for row, name, spent, tail in zip(rows, names, costs, tails, strict=True):
        length = max(1, round(_BAR * row.interruptions / most))
        bar = style.paint("█" * length, row.name) + " " * (_BAR - length)
        line = f"{name:<{widths[0]}} {bar} {row.interruptions:>{widths[1]},}  {spent:>{wide}}"
        room = WIDTH - (widths[0] + _BAR + widths[1] + wide + 4) - 3
        yield f"{line}   {one_line(tail, room)}".rstrip()


def _causes(row: Row) -> str:
    shown = ", ".join(f"{cause.name} {cause.interruptions:,}" for cause in row.causes[:_CAUSES])
    return f"{shown} …" if len(row.causes) > _CAUSES else shown


def _group(group: Group, style: Style) -> Iterator[str]:
    yield f"by {group.by}:"
    shown = list(group.rows) if group.by in {"day", "week", "size"} else list(group.rows[:_ROWS])
    yield from _bars(shown, style, [", ".join(f"{cls} {found:,}" for cls, found in row.classes) for row in shown])
    if len(shown) < len(group.rows):
        yield f"and {len(group.rows) - len(shown)} more: --json has all"


def _blind_spot(report: FleetReport) -> Iterator[str]:
    unseen = report.unseen
    if unseen is None or not unseen.failures:
        return
    states = ", ".join(f"{found:,} {state}" for state, found in unseen.states)
    line = f"unseen by supervise: {states} in sacct of jobs that did not use it (at most {cost(unseen.cost_at_most)})"
    yield from _wrapped(line)


def _measures(report: FleetReport) -> Iterator[str]:
    yield from _wrapped(_effective(report))
    yield from _wrapped(_between(report))
    speed = report.speed
    spreads = (("detection", speed.detection), ("isolation", speed.isolation), ("recovery", speed.recovery))
    if told := [f"{name} {_spread(found)}" for name, found in spreads if found is not None]:
        yield from _wrapped("; ".join(told))
    if speed.parts:
        part = speed.parts[0]
        yield from _wrapped(f"{percent(part.share)} of recovery is {part.name.replace('_', ' ')}: {speed.remedy}")


def _effective(report: FleetReport) -> str:
    ettr = report.ettr
    if ettr.ratio is None:
        return "ETTR not known: no job has told what it used"
    most = "at most " if ettr.is_at_most else ""
    gpus = f" ({number(ettr.held_gpu_h)} GPU-h)" if ettr.held_gpu_h else ""
    lost = ", ".join(filter(None, (f"lost {cost(report.cost)}", energy(report.cost.kwh))))
    held = f"{number(ettr.computing_node_h)} of {number(ettr.held_node_h)} node-h held{gpus}"
    return f"ETTR {most}{percent(ettr.ratio)}: effective training time {held}; {lost}"


def _between(report: FleetReport) -> str:
    rates = [rate for rate in report.mtbi_by_size if rate.nodes != "unknown"]
    rate = max(rates, key=lambda one: (one.interruptions, one.job_h), default=report.mtbi)
    unit = "node" if rate.nodes == "1" else "nodes"
    often = per(report.mtbi.per_1000_node_d, "per 1,000 node-days")
    return f"MTBI {hours(rate.mtbi_h)} at {rate.nodes} {unit}; all jobs: {often}"


def _spread(found: Spread) -> str:
    if found.known == 1:
        return f"{duration(found.median_s)} (one)"
    return f"median {duration(found.median_s)}, p90 {duration(found.p90_s)}, max {duration(found.max_s)}"


def _comparison(report: FleetReport) -> Iterator[str]:
    profile = report.profile
    away = {
        row: abs(row.share.estimate - row.published_share) for row in profile.rows if row.share.estimate is not None
    }
    different = [row for row, points in away.items() if row.is_different and points >= _TELLING]
    if not different:
        return
    different.sort(key=lambda row: -away[row])
    told = ", ".join(
        f"{row.name} {percent(row.share.estimate or 0.0)} (there {percent(row.published_share)})"
        for row in different[:_CAUSES]
    )
    yield from _wrapped(f"unlike {profile.name}: {told}")


def _single(report: FleetReport, style: Style) -> list[str]:
    if not report.rows or report.interruptions > _ROWS:
        return []
    lines = table(_TABLE_HEAD, [_row(one, style) for one in report.rows])
    return ["", *(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines)]


def _row(one: Interruption, style: Style) -> tuple[str, ...]:
    gpu = f" GPU {one.gpus[0].rpartition(':')[2]}" if one.gpus else ""
    return (
        clock(one.at, now=style.now),
        one_line(one.job, 12) or "-",
        one_line(f"{one.cls}/{one.cause}", 30),
        one_line(f"{one.nodes[0]}{gpu}", 16) if one.nodes else "-",
        "-" if one.detect_s is None else duration(one.detect_s),
        "-" if one.recovery_s is None else duration(one.recovery_s),
        one_line(one.action, 17),
    )
