"""The parts of the page that compare: windows of time, nodes, sizes, another fleet. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from supervisor.report.fleet.model import Cost, FleetReport, Group, Interruption, Rate, Row, WindowEttr
from supervisor.report.fleet.wording import hours, number, per
from supervisor.report.html import values
from supervisor.report.html.charts import Column, Point, columns, heat, trend
from supervisor.report.html.markup import Markup, element, joined
from supervisor.report.html.sections import Section, key, none, shown
from supervisor.report.html.svg import KINDS
from supervisor.report.html.table import figure, folded, table

_TIMES: Final = {"day": 1, "week": 7}
"""What interruptions are drawn by, and how many days that has."""
_COLUMNS: Final = 31
_WEEKS: Final = 13
_ELSEWHERE: Final = frozenset({*_TIMES, "cause"})
"""Groups that another part of the page shows."""
_NODES_DRAWN: Final = 10
_ROWS: Final = 50
"""Of a group: a page of a thousand nodes is read by nobody."""
_WEEK_S: Final = 7 * 86_400.0
_DEFINITION: Final = (
    "Effective training time ratio (ETTR): node time in which ranks made steps that were new to the run, over node time"
    " held, spares and waiting for a restart included; as arXiv 2509.16293 and 2410.21680 have it, in node time."
)


def when(report: FleetReport) -> Section:
    """Interruptions over time, stacked by class: by day, or by week where those would be too many columns."""
    groups = {group.by: group.rows for group in report.groups}
    found = [(by, filled(groups.get(by, ()), days, report)) for by, days in _TIMES.items()]
    by, rows = next(((by, rows) for by, rows in found if len(rows) <= _COLUMNS), found[-1])
    drawn = rows[-_COLUMNS:]
    if not drawn:
        return Section("when", "When", none("no interruption in this time"))
    title = shown(f"Interruptions by {by}", len(drawn), len(rows))
    stacks = [Column(label=values.day_named(row.name), parts=_in_order(row)) for row in drawn]
    return Section(
        "when", "When", joined(key(), figure(title, columns("by-time", title, stacks), _table(title, by, drawn)))
    )


def filled(rows: Sequence[Row], days: int, report: FleetReport) -> list[Row]:
    """One row for each day or week of the report's time, those without an interruption, too."""
    known = {date.fromisoformat(row.name): row for row in rows}
    if not known:
        return []
    since = min(known) if report.since is None else min(*known, values.date_of(report.since))
    newest, until = max(known), values.date_of(report.until - 1)
    last = newest + timedelta(days=(until - newest).days // days * days)
    back = range((last - since).days // days, -1, -1)
    dates = [last - timedelta(days=days * ago) for ago in back]
    empty = Row(name="", interruptions=0, share=0.0, by_person=0, cost=Cost())
    return [known.get(day) or replace(empty, name=day.isoformat()) for day in dates]


def ettr(report: FleetReport) -> Section:
    """The trend of the fleet, and the runs that used their nodes least."""
    found = report.ettr
    points = [Point(label=values.day(window.begins_at), value=window.ettr) for window in found.windows]
    numbers = table(
        f"By {found.window}, from",
        ("From", "ETTR", "Held"),
        [_window(window) for window in found.windows],
        numbers={1, 2},
    )
    title = f"ETTR by {found.window}"
    drawn = [figure(title, trend("ettr-trend", title, points), numbers)] if points else [none("no window is known")]
    lowest = table(
        "Runs that held the most unused node time",
        ("Job", "User", "ETTR", "Held", "Interruptions"),
        [
            (
                run.job,
                run.user,
                values.share(run.ettr),
                f"{number(run.held_node_h)} node-h",
                f"{run.interruptions:,}",
            )
            for run in found.lowest
        ],
        numbers={2, 3, 4},
    )
    return Section(
        "ettr",
        "Effective training time",
        joined(element("p", _DEFINITION), *_falling(report), *drawn, *([lowest] * bool(found.lowest))),
    )


def how_often(report: FleetReport) -> Section:
    """Mean time between interruptions, by size of the job."""
    rows = [*(_rate(rate) for rate in report.mtbi_by_size), _rate(report.mtbi)]
    head = ("Nodes", "Mean time between", "Per 1,000 node-days", "Interruptions", "Jobs")
    caption = "Interruptions by size of job, with 95% confidence"
    return Section("how-often", "How often", table(caption, head, rows, numbers={1, 2, 3, 4}))


def nodes(report: FleetReport) -> Section:
    """Which nodes were to blame, and when."""
    weeks, strips = _strips(report.rows)
    caption = shown("Interruptions that a node was blamed for, by week", len(report.rows), report.interruptions)
    numbers = table(
        caption,
        ("Node", *weeks),
        [(name, *(f"{times}" for times in strip)) for name, strip in strips],
        numbers=range(1, len(weeks) + 1),
    )
    drawn = (
        [figure(caption, heat("nodes", caption, weeks, strips), numbers)] if strips else [none("no node was blamed")]
    )
    first = f"{', '.join(report.look_first)}. `supervise nodes` weighs each node against chance."
    told = [element("p", element("strong", "Look first at: "), first)] * bool(report.look_first)
    return Section("nodes", "Nodes", joined(*told, *drawn))


def groups(report: FleetReport) -> Section:
    """The same interruptions by node, partition, user, size, ..."""
    made = [_group(group) for group in report.groups if group.rows and group.by not in _ELSEWHERE]
    return Section("groups", "Groups", joined(*made) if made else none("nothing to group"))


def profile(report: FleetReport) -> Section:
    """Beside what another fleet has published."""
    found = report.profile
    rows = [
        (
            row.name,
            f"{row.published:,}",
            values.share(row.published_share),
            f"{row.ours:,}",
            values.share_interval(row.share),
            "yes" if row.is_different else "no",
        )
        for row in found.rows
    ]
    often = f"{number(found.published_per_1000_node_d)} per 1,000 node-days"
    here = per(report.mtbi.per_1000_node_d, "per 1,000 node-days")
    told = f"Published in arXiv 2407.21783, table 5: {found.published:,} interruptions, {often}. Here: {here}."
    head = ("Cause", "Published", "Share", "Here", "Share (95%)", "Different")
    made = table(f"{found.name} and this fleet", head, rows, numbers={1, 2, 3})
    return Section("profile", "Beside another fleet", joined(element("p", told), made))


def _in_order(row: Row) -> tuple[tuple[str, int], ...]:
    """Each class at its place in the stack, in every column."""
    return tuple(sorted(row.classes, key=lambda pair: KINDS.index(pair[0]) if pair[0] in KINDS else len(KINDS)))


def _window(window: WindowEttr) -> tuple[str, ...]:
    held = f"{number(window.held_node_h)} node-h"
    return values.day(window.begins_at), values.share(window.ettr), held


def _falling(report: FleetReport) -> list[Markup]:
    found = report.ettr
    told = []
    if found.falling:
        falls = len(found.falling) - 1
        course = " → ".join(map(values.share, found.falling))
        text = f"It fell in {falls} {found.window}{'s' * (falls != 1)} in a row: {course}."
        told.append(element("p", element("strong", text) if found.is_escalated else text))
    if found.is_at_most:
        told.append(element("p", "The accounting knows no steps: these ratios are upper bounds.", class_="quiet"))
    return told


def _rate(rate: Rate) -> tuple[str, ...]:
    often = (hours(rate.mtbi_h), per(rate.per_1000_node_d, "").strip())
    return rate.nodes, *often, f"{rate.interruptions:,}", f"{rate.jobs:,}"


def _strips(rows: Sequence[Interruption]) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """The newest weeks, counted back from the newest interruption, and how often each node was blamed in them."""
    if not rows:
        return [], []
    newest = rows[-1].at
    blamed = Counter((node, int((newest - row.at) // _WEEK_S)) for row in rows for node in row.nodes[:1])
    sums: Counter[str] = Counter()
    for (node, _), times in blamed.items():
        sums[node] += times
    most = sorted(sums, key=lambda node: (-sums[node], node))[:_NODES_DRAWN]
    span = 1 + max((ago for node, ago in blamed if node in most), default=0)
    ago = range(min(span, _WEEKS) - 1, -1, -1)
    weeks = [f"to {values.day(newest - back * _WEEK_S)}" for back in ago]
    return weeks, [(node, [blamed[node, back] for back in ago]) for node in most]


def _group(group: Group) -> Markup:
    rows = group.rows[:_ROWS]
    title = shown(f"By {group.by}", len(rows), len(group.rows))
    return folded(title, _table(title, group.by, rows))


def _table(title: str, by: str, rows: Sequence[Row]) -> Markup:
    head = (by.capitalize(), "Interruptions", "Share", "For a person", "Classes", "Lost")
    cells = [
        (
            row.name,
            f"{row.interruptions:,}",
            values.share(row.share),
            f"{row.by_person:,}",
            values.by_class(row),
            values.whole_cost(row.cost),
        )
        for row in rows
    ]
    return table(title, head, cells, numbers={1, 2, 3})
