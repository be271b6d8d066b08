"""The parts of the page, in the order in which they are read: from what to do down to single interruptions. Pure."""

from dataclasses import dataclass
from typing import Final

from supervisor.report.fleet.model import FleetReport, Interruption, Row, Spread, Unseen
from supervisor.report.fleet.wording import cost, hours, many, number
from supervisor.report.html import values
from supervisor.report.html.charts import Bar, bars
from supervisor.report.html.markup import Content, Markup, element, joined
from supervisor.report.html.svg import KINDS, swatch
from supervisor.report.html.table import figure, folded, table

_CAUSES_DRAWN: Final = 12
_ROWS_SHOWN: Final = 200
_DOUBTS_SHOWN: Final = 50
_NODES_SHOWN: Final = 20
_TIMES_HEAD: Final = ("What", "Known of", "Median", "90% within", "Longest")


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page."""

    name: str
    """Its anchor."""
    title: str
    content: Markup


def facts(report: FleetReport) -> Section:
    """The figures that are asked for first."""
    over = report.interruptions - report.not_over
    handled = f"{report.handled:,} of {over:,}" if over else "nothing to handle"
    not_over = f"{report.not_over:,} not over yet" if report.not_over else ""
    within = f"in {many(report.jobs, 'job')} of {many(report.runs, 'run')}" if report.jobs else "no jobs are known"
    told: list[tuple[str, str, str]] = [
        ("Interruptions", f"{report.interruptions:,}", within),
        ("Handled without a person", handled, ", ".join(filter(None, (_share(report.handled_share), not_over)))),
        ("Lost to interruptions", values.whole_cost(report.cost), _energy(report)),
        ("Effective training time", _ettr(report), "node time with new steps over node time held"),
        ("Mean time between interruptions", hours(report.mtbi.mtbi_h), "of a job"),
        ("Cause unknown", f"{report.unknown:,}", _share(report.unknown_share)),
        ("Planned stops", f"{report.planned:,}", "time limits, preemptions, cancels: counted in nothing else"),
    ]
    rows = [
        element(
            "div", element("dt", title), element("dd", value), *([element("dd", more, class_="quiet")] * bool(more))
        )
        for title, value, more in told
    ]
    return Section("figures", "Figures", element("dl", *rows, class_="facts"))


def _share(value: float | None) -> str:
    """Of nothing there is none: that needs no word."""
    return "" if value is None else values.share(value)


def causes(report: FleetReport) -> Section:
    """The histogram: classes, and the causes of each."""
    if not report.interruptions:
        return Section("causes", "Causes", none("no interruption in this time"))
    return Section("causes", "Causes", joined(key(), _by_class(report), _by_cause(report)))


def key() -> Markup:
    """What the patterns mean."""
    return element("ul", *(element("li", swatch(kind), kind) for kind in KINDS), class_="key", aria_label="Key")


def speed(report: FleetReport) -> Section:
    """How fast interruptions were seen, pinned down and overcome, and what took longest."""
    found = report.speed
    known = [
        ("Detection", found.detection),
        ("Isolation", found.isolation),
        ("Recovery", found.recovery),
    ]
    rows = [_spread(name, spread) for name, spread in known]
    parts = [
        Bar(
            label=part.name.replace("_", " "),
            value=part.seconds,
            shown=f"{values.seconds(part.seconds)}, {values.share(part.share)}",
            kind="plain",
        )
        for part in found.parts
    ]
    drawn = [
        figure(
            "Where recoveries spent their time",
            bars("parts", "Parts of all recoveries", parts),
            table("Parts of all recoveries", ("Part", "Time, share"), [(bar.label, bar.shown) for bar in parts]),
        )
    ]
    pinned = ", ".join(f"{unit} {times:,}" for unit, times in found.isolated_to)
    content = joined(
        table("Durations", _TIMES_HEAD, rows, numbers={1, 2, 3, 4}),
        *([element("p", f"Pinned down to: {pinned}.")] * bool(pinned)),
        *(drawn * bool(parts)),
        *([element("p", element("strong", "Remedy for the largest part: "), found.remedy)] * bool(found.remedy)),
    )
    return Section("speed", "How fast", content)


def waiting(report: FleetReport) -> Section:
    """Runs that stand still until somebody does something."""
    rows = [
        (one.job, one.user, f"{one.cls}/{one.cause}", one.node or "none named", values.moment(one.at))
        for one in report.waiting[:_ROWS_SHOWN]
    ]
    title = shown("Runs that wait for a person", len(rows), len(report.waiting))
    made = table(title, ("Job", "User", "Cause", "Node", "Since"), rows)
    return Section("waiting", "Waiting for a person", made if rows else none("no run waits"))


def unseen(report: FleetReport) -> Section:
    """The blind spot."""
    found = report.unseen
    if found is None:
        told: Markup = none("this source knows only jobs that used supervise; the accounting knows the others")
    else:
        told = _unseen(found)
    return Section("unseen", "Blind spot", told)


def doubts(report: FleetReport) -> Section:
    """What was left out, and why."""
    found = [*report.problems]
    found += [
        f"{owner or 'Owners that are not named here'}: {times:,} files name another user; counted in nothing"
        for owner, times in report.untrusted
    ]
    rows = [element("li", text) for text in found[:_DOUBTS_SHOWN]]
    if len(found) > len(rows):
        rows.append(element("li", f"and {len(found) - len(rows):,} more"))
    return Section("doubts", "Left out", element("ul", *rows) if rows else none("nothing was left out"))


def interruptions(report: FleetReport) -> Section:
    """Single interruptions, the newest first."""
    head = ("Time", "Job", "User", "Cause", "Blamed", "Confidence", "Detected in", "Recovered in", "Action", "Lost")
    rows: list[tuple[Content, ...]] = [
        (
            values.moment(row.at),
            row.job,
            row.user,
            f"{row.cls}/{row.cause}",
            _blamed(row),
            f"{row.confidence:.2f}",
            values.seconds(row.detect_s),
            values.seconds(row.recovery_s),
            row.action,
            values.whole_cost(row.cost),
        )
        for row in report.rows[: -_ROWS_SHOWN - 1 : -1]
    ]
    title = shown("Newest interruptions", len(rows), report.interruptions)
    made = folded(title, table(title, head, rows, numbers={5, 6, 7}))
    return Section("interruptions", "Interruptions", made if rows else none("none"))


def _by_class(report: FleetReport) -> Markup:
    rows = report.classes
    drawn = [Bar(label=row.name, value=row.interruptions, shown=_counted(row), kind=row.name) for row in rows]
    numbers = table(
        "Interruptions by class",
        ("Class", "Interruptions", "Share", "Lost"),
        [(row.name, f"{row.interruptions:,}", values.share(row.share), values.whole_cost(row.cost)) for row in rows],
        numbers={1, 2},
    )
    return figure("Classes", bars("classes", "Interruptions by class", drawn), numbers)


def _by_cause(report: FleetReport) -> Markup:
    found = [(cls.name, cause) for cls in report.classes for cause in cls.causes]
    found.sort(key=lambda pair: (-pair[1].interruptions, pair[1].name))
    most = found[:_CAUSES_DRAWN]
    drawn = [Bar(label=row.name, value=row.interruptions, shown=_counted(row), kind=cls) for cls, row in most]
    cells = [
        (
            row.name,
            cls,
            f"{row.interruptions:,}",
            values.share(row.share),
            f"{row.by_person:,}",
            values.whole_cost(row.cost),
        )
        for cls, row in found
    ]
    head = ("Cause", "Class", "Interruptions", "Share", "For a person", "Lost")
    numbers = table("Interruptions by cause", head, cells, numbers={2, 3, 4})
    title = shown("Causes", len(most), len(found))
    return figure(title, bars("causes", "Interruptions by cause", drawn), numbers)


def _blamed(row: Interruption) -> str:
    """`gpu017 GPU 3, gpu044`: a node whose GPU is named is not named again."""
    gpus = [gpu.rpartition(":") for gpu in row.gpus]
    nodes = [node for node in row.nodes if node not in {name for name, _, _ in gpus}]
    return ", ".join([*(f"{name} GPU {number}" for name, _, number in gpus), *nodes]) or "nobody"


def shown(title: str, drawn: int, of: int) -> str:
    """The title, and how much of it there is room for."""
    return title if drawn >= of else f"{title}, {drawn:,} of {of:,}"


def none(text: str) -> Markup:
    """In place of a table without rows."""
    return element("p", f"{text[:1].upper()}{text[1:]}.", class_="quiet")


def _counted(row: Row) -> str:
    return f"{row.interruptions:,} · {cost(row.cost)}" if row.interruptions else "0"


def _energy(report: FleetReport) -> str:
    held = report.ettr
    parts = [f"of {number(held.held_gpu_h)} GPU-h held"] if held.held_gpu_h else []
    if held.energy_kwh is not None:
        parts.append(f"{number(held.energy_kwh)} kWh used")
    return ", ".join(parts)


def _ettr(report: FleetReport) -> str:
    at_most = "at most " if report.ettr.is_at_most and report.ettr.ratio is not None else ""
    return at_most + values.share(report.ettr.ratio)


def _spread(name: str, spread: Spread | None) -> tuple[str, ...]:
    if spread is None:
        return (name, "0", *([values.NOT_KNOWN] * 3))
    return (name, f"{spread.known:,}", *map(values.seconds, (spread.median_s, spread.p90_s, spread.max_s)))


def _unseen(found: Unseen) -> Markup:
    states = ", ".join(f"{state} {times:,}" for state, times in found.states)
    lost = f"They held at most {values.whole_cost(found.cost_at_most)} until then." if found.failures else ""
    what = f"{found.failures:,} failures in the accounting of jobs that did not use supervise"
    told = f"{what}{': ' if states else ''}{states}. {lost}"
    nodes = table(
        shown("Nodes that Slurm names", min(_NODES_SHOWN, len(found.nodes)), len(found.nodes)),
        ("Node", "Failures"),
        [(node, f"{times:,}") for node, times in found.nodes[:_NODES_SHOWN]],
        numbers={1},
    )
    return joined(element("p", told.strip()), *([nodes] * bool(found.nodes)))
