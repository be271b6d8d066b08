"""Four kinds of charts: bars, stacked columns, a trend, strips of heat. Each needs a table beside it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from supervisor.report.html.markup import Markup, element, joined
from supervisor.report.html.svg import (
    axis_word,
    cut,
    dot,
    fill,
    image,
    kept_inside,
    percent,
    rule,
    segment,
    word,
)

_LINE: Final = 20
_BAR: Final = 14
_GAP: Final = 10
_HEIGHT: Final = 150
_CELL: Final = 24
_LABELS: Final = 4
"""Under an x axis: more would run into each other at 360 px."""
_NUMBERED_UP_TO: Final = 14
"""So many columns have their sum above them."""
_LABEL_WIDTH: Final = 24
"""Characters beside a value on a phone; the table beside the chart has the whole."""
_SHORT: Final = 7
_LEVELS: Final = 4
_ROOM: Final = 0.03
"""Below the lowest value of a trend, for its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row of a bar chart."""

    label: str
    value: float
    shown: str
    """The value with its unit."""
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One window of time: how many of each kind."""

    label: str
    parts: tuple[tuple[str, float], ...]

    @property
    def total(self) -> float:
        """Of all parts."""
        return sum(value for _, value in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One window of a trend; None: nothing is known of it, and the line has a gap."""

    label: str
    value: float | None


def bars(name: str, title: str, rows: Sequence[Bar]) -> Markup:
    """Horizontal bars, each below its label and value."""
    most = max((row.value for row in rows), default=0) or 1
    step = _LINE + _BAR + _GAP
    drawn = [_bar(row, number * step, 100 * row.value / most) for number, row in enumerate(rows)]
    told = "; ".join(f"{row.label}: {row.shown}" for row in rows)
    return image(name, title, told, len(rows) * step, drawn)


def columns(name: str, title: str, windows: Sequence[Column]) -> Markup:
    """Stacked bars, one for each window of time."""
    most = max((window.total for window in windows), default=0) or 1
    width = 100 / max(1, len(windows))
    drawn = _frame(f"{most:g}", "0")
    for number, window in enumerate(windows):
        drawn += _stack(window, number * width, width, most)
        if len(windows) <= _NUMBERED_UP_TO and window.total:
            top = _LINE + _HEIGHT * (1 - window.total / most)
            drawn.append(word(f"{window.total:g}", (number + 0.5) * width, "middle", top - 4, "value"))
    drawn += _under([window.label for window in windows], width)
    told = "; ".join(f"{window.label}: {_parts_told(window)}" for window in windows)
    return image(name, title, told, 2 * _LINE + _HEIGHT + _GAP, drawn, class_="plot")


def trend(name: str, title: str, points: Sequence[Point]) -> Markup:
    """A line of shares from 0 to 1, in percent, from a round value below the lowest one up to 100%."""
    known = [point.value for point in points if point.value is not None]
    low = max(0.0, int(10 * (min(known, default=0.0) - _ROOM)) / 10)
    width = 100 / max(1, len(points))
    places = [
        None if point.value is None else ((number + 0.5) * width, _down(point.value, low))
        for number, point in enumerate(points)
    ]
    drawn = _frame("100%", f"{low:.0%}")
    drawn += [segment(one, other) for one, other in pairwise(places) if one and other]
    drawn += [dot(place) for place in places if place]
    drawn += _values(points, places)
    drawn += _under([point.label for point in points], width)
    told = "; ".join(f"{point.label}: {_share(point.value)}" for point in points)
    return image(name, title, told, 2 * _LINE + _HEIGHT + _GAP, drawn, class_="plot")


def heat(name: str, title: str, head: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]]) -> Markup:
    """A strip for each row, a cell for each column, stronger where there is more; the number stands in the cell."""
    most = max((value for _, values in rows for value in values), default=0) or 1
    width = 100 / max(1, len(head))
    step = _LINE + _CELL + _GAP
    drawn: list[Markup] = []
    for number, (label, values) in enumerate(rows):
        top = number * step
        drawn.append(word(cut(label, 2 * _LABEL_WIDTH), 0, "start", top + _LINE - 6))
        for place, value in enumerate(values):
            drawn += _cell(value, place * width, top + _LINE, width, most)
    bottom = len(rows) * step + _LINE - 6
    drawn += [word(text, x, anchor, bottom, "axis") for text, x, anchor in _ends(head)]
    told = "; ".join(f"{label}: {sum(values)}" for label, values in rows)
    return image(name, title, told, len(rows) * step + _LINE, drawn)


def _bar(row: Bar, top: float, share: float) -> Markup:
    label = word(cut(row.label, _LABEL_WIDTH), 0, "start", top + _LINE - 6)
    shown = word(row.shown, 100, "end", top + _LINE - 6, "value")
    track = element("rect", x=0, y=top + _LINE, width="100%", height=_BAR, class_="track")
    bar = element("rect", x=0, y=top + _LINE, width=percent(share), height=_BAR, fill=fill(row.kind), class_="part")
    return joined(label, shown, track, bar)


def _frame(high: str, low: str) -> list[Markup]:
    top, bottom = _LINE, _LINE + _HEIGHT
    return [axis_word(high, top), axis_word(low, bottom), rule(top), rule(bottom)]


def _stack(window: Column, left: float, width: float, most: float) -> list[Markup]:
    drawn, bottom = [], float(_LINE + _HEIGHT)
    x, wide = percent(left + 0.12 * width), percent(0.76 * width)
    for kind, value in window.parts:
        height = _HEIGHT * value / most
        bottom -= height
        if value:
            part = element("rect", x=x, width=wide, y=bottom, height=height, fill=fill(kind), class_="part")
            drawn.append(part)
    return drawn


def _parts_told(window: Column) -> str:
    return ", ".join(f"{value:g} {kind}" for kind, value in window.parts if value) or "none"


def _under(labels: Sequence[str], width: float) -> list[Markup]:
    """Some of the labels under the x axis, evenly, the last one always."""
    most = _LABELS if max(map(len, labels), default=0) <= _SHORT else _LABELS // 2
    step = max(1, -(-len(labels) // most))
    shown = range(len(labels) - 1, -1, -step)
    y = _HEIGHT + 2 * _LINE - 2
    return [
        word(cut(labels[number], _LABEL_WIDTH // 2), *kept_inside((number + 0.5) * width), y, "axis")
        for number in shown
    ]


def _down(value: float, low: float) -> float:
    return round(_LINE + _HEIGHT * (1 - (min(1.0, value) - low) / ((1 - low) or 1)), 1)


def _share(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1%}"


def _values(points: Sequence[Point], places: Sequence[tuple[float, float] | None]) -> list[Markup]:
    """The lowest and the last value, in words: the line comes from above to the one, which has them below its dot."""
    known = [number for number, place in enumerate(places) if place]
    if not known:
        return []
    lowest = max(known, key=lambda number: (places[number] or (0.0, 0.0))[1])
    told = [(points[number].value, places[number], number == lowest) for number in sorted({lowest, known[-1]})]
    return [
        word(_share(value), *kept_inside(place[0]), place[1] + (18 if is_lowest else -9), "value")
        for value, place, is_lowest in told
        if place
    ]


def _cell(value: int, left: float, top: float, width: float, most: int) -> list[Markup]:
    level = -(-_LEVELS * value // most) if value else 0
    x, wide = percent(left + 0.05 * width), percent(0.9 * width)
    box = element("rect", x=x, width=wide, y=top, height=_CELL, class_=f"heat-{level}")
    number = word(str(value), left + width / 2, "middle", top + _CELL - 7, f"on-heat-{level}")
    return [box, number] if value else [box]


def _ends(head: Sequence[str]) -> list[tuple[str, float, str]]:
    """The names of the first and the last column."""
    first = [(text, 0.0, "start") for text in head[:1]]
    return first + [(text, 100.0, "end") for text in head[1:][-1:]]
