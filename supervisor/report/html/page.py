"""The whole page. Pure."""

from collections.abc import Sequence
from typing import Final

from supervisor.report.fleet.model import FleetReport
from supervisor.report.html import fleet, sections, values
from supervisor.report.html.markup import Markup, element, joined
from supervisor.report.html.sections import Section
from supervisor.report.html.style import policy, style
from supervisor.report.html.svg import patterns
from supervisor.version import VERSION

_PARTS: Final = (
    sections.facts,
    sections.waiting,
    sections.causes,
    fleet.when,
    fleet.ettr,
    sections.speed,
    fleet.how_often,
    fleet.nodes,
    sections.unseen,
    fleet.profile,
    fleet.groups,
    sections.interruptions,
    sections.doubts,
)


def page(report: FleetReport) -> str:
    """One file that needs nothing else: the conclusion, what blocks, then the figures."""
    parts = [part(report) for part in _PARTS]
    body = element(
        "body",
        element("a", "Skip to the figures", class_="skip", href="#main"),
        patterns(),
        _header(report),
        _contents(parts),
        element("main", *map(_section, parts), id="main", tabindex=-1),
        _footer(report),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(report), body, lang='en')}\n"


def _head(report: FleetReport) -> Markup:
    css = style()
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # Ahead of everything that it forbids.
        element("meta", http_equiv="Content-Security-Policy", content=policy(css)),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{'OK' if report.is_ok else 'NOT OK'}: interruptions, {_window(report)}"),
        element("link", rel="icon", href="data:,"),
        element("style", Markup(css)),
    )


def _header(report: FleetReport) -> Markup:
    blocks = [element("ul", *(element("li", text) for text in report.blockers))] if report.blockers else []
    verdict = element(
        "div",
        element("h1", report.conclusion),
        element("p", "What blocks:" if blocks else "Nothing blocks."),
        *blocks,
        class_=f"verdict {'good' if report.is_ok else 'bad'}",
    )
    return element("header", verdict, element("p", _window(report), class_="quiet"))


def _window(report: FleetReport) -> str:
    if report.since is None:
        return f"up to {values.moment(report.until)}"
    return f"{values.moment(report.since)} to {values.moment(report.until)}"


def _contents(parts: Sequence[Section]) -> Markup:
    links = [element("li", element("a", part.title, href=f"#{part.name}-part")) for part in parts]
    return element("nav", element("ul", *links), aria_label="Contents")


def _section(part: Section) -> Markup:
    """Its anchor has a word of its own: charts have names, too."""
    heading = element("h2", part.title, id=f"{part.name}-head")
    return element("section", heading, part.content, id=f"{part.name}-part", aria_labelledby=f"{part.name}-head")


def _footer(report: FleetReport) -> Markup:
    source = {"ledger": "the site's ledger", "sacct": "Slurm's accounting", "runs": "run folders"}[report.source]
    made = f"Made by supervise {VERSION} at {values.moment(report.until)} from {source}: {report.place}."
    times = "Days and times are UTC. ~ stands for a range or an estimate."
    return element("footer", joined(element("p", made, class_="quiet"), element("p", times, class_="quiet")))
