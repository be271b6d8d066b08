"""What charts are drawn with, as inline SVG. Pure.

Along x everything is in percent and along y in pixels, without a viewBox: a chart is as wide as its page, and its
words have the size of the page's words on a phone and on paper. Each class has a colour and a pattern.
"""

from collections.abc import Iterable
from typing import Final

from supervisor.report.html.markup import Markup, element, joined

_WHOLE: Final = 100.0
_EDGE: Final = 8.0
"""Percent: a word in the middle of something nearer to an edge than this would stick out of a phone."""
_PATTERNS: Final = {
    "hardware": "",
    "network": "M0 8L8 0",
    "software": "M0 4H8",
    "data": "M2 2h2v2h-2zM6 6h2v2h-2z",
    "unknown": "M0 0L8 8M0 8L8 0",
    "plain": "M4 0V8",
}
KINDS: Final = tuple(kind for kind in _PATTERNS if kind != "plain")
"""The classes that interrupt; every other one is drawn as `unknown`. `plain` is for what has no class."""


def patterns() -> Markup:
    """What the charts are filled with; stands once in a page."""
    made = [
        element("pattern", _tile(kind, path), id=f"fill-{kind}", width=8, height=8, patternUnits="userSpaceOnUse")
        for kind, path in _PATTERNS.items()
    ]
    return element("svg", element("defs", *made), width=0, height=0, class_="patterns", aria_hidden="true")


def swatch(kind: str) -> Markup:
    """A square as the charts draw this kind, for the key."""
    box = element("rect", width="100%", height="100%", fill=fill(kind))
    return element("svg", box, width=14, height=14, aria_hidden="true", class_="swatch")


def fill(kind: str) -> str:
    """The pattern of a kind."""
    return f"url(#fill-{kind if kind in _PATTERNS else 'unknown'})"


def image(name: str, title: str, told: str, height: float, drawn: Iterable[Markup], *, class_: str = "chart") -> Markup:
    """A chart that says what it is and what it shows; `name` is its own in the page."""
    about = (element("title", title, id=f"{name}-title"), element("desc", told or "nothing", id=f"{name}-desc"))
    labels = f"{name}-title {name}-desc"
    return element("svg", *about, *drawn, role="img", aria_labelledby=labels, class_=class_, height=height)


def percent(of_whole: float) -> str:
    """A place or a length along x."""
    return f"{of_whole:.2f}%"


def word(text: str, x: float, anchor: str, y: float, class_: str | None = None) -> Markup:
    """A text with its start, middle or end at x."""
    return element("text", text, x=percent(x), y=round(y, 1), text_anchor=anchor, class_=class_)


def cut(text: str, width: int) -> str:
    """The text without its middle where it is too long: nodes of one rack differ at their end."""
    if len(text) <= width:
        return text
    head = width // 3
    return f"{text[:head]}…{text[len(text) - (width - head - 1) :]}"


def kept_inside(x: float) -> tuple[float, str]:
    """Place and anchor of a word that belongs to this x and must not stick out."""
    if x > _WHOLE - _EDGE:
        return _WHOLE, "end"
    return (0.0, "start") if x < _EDGE else (x, "middle")


def axis_word(text: str, y: float) -> Markup:
    """Left of a plot: its style leaves room there."""
    return element("text", text, x=-8, y=y + 4, text_anchor="end", class_="axis")


def rule(y: float) -> Markup:
    """A line all along x."""
    return element("line", x1=0, x2="100%", y1=y, y2=y, class_="rule")


def segment(one: tuple[float, float], other: tuple[float, float]) -> Markup:
    """Part of a trend's line."""
    return element("line", x1=percent(one[0]), y1=one[1], x2=percent(other[0]), y2=other[1], class_="line")


def dot(place: tuple[float, float]) -> Markup:
    """One value of a trend."""
    return element("circle", cx=percent(place[0]), cy=place[1], r=4, class_="dot")


def _tile(kind: str, path: str) -> Markup:
    lines = element("path", d=path, class_="hatch") if path else Markup()
    return joined(element("rect", width=8, height=8, class_=f"kind-{kind}"), lines)
