"""Values as people read them: durations, counts, times of day, tables."""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400
_TENTHS_BELOW_S: Final = 9.95
_NAMES_SHOWN: Final = 6
_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")


def duration(seconds: float) -> str:
    """`1.4 s`, `38 s`, `2 min 51 s`, `3 h 2 min`, `4 d 1 h`."""
    if seconds < _TENTHS_BELOW_S:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return _two(whole, _MINUTE, "min", 1, "s")
    if whole < _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "min")
    return _two(whole, _DAY, "d", _HOUR, "h")


def _two(whole: int, unit: int, name: str, below: int, below_name: str) -> str:
    rest = whole % unit // below
    return f"{whole // unit} {name}" + (f" {rest} {below_name}" if rest else "")


def node_time(node_seconds: float) -> str:
    """`27 node-s`, `12 node-min`, `61.0 node-h`."""
    if node_seconds < 2 * _MINUTE:
        return f"{node_seconds:.0f} node-s"
    if node_seconds < 2 * _HOUR:
        return f"{node_seconds / _MINUTE:.0f} node-min"
    return f"{node_seconds / _HOUR:,.1f} node-h"


def size(number: int) -> str:
    """`0 B`, `640 kB`, `12.1 MB`, `3.4 GB`."""
    if number < 1000:  # noqa: PLR2004  # the unit
        return f"{number} B"
    for unit, of in (("GB", 1e9), ("MB", 1e6)):
        if number >= of:
            return f"{number / of:.1f} {unit}"
    return f"{number / 1e3:.0f} kB"


def count(number: int, thing: str) -> str:
    """`no interruptions`, `1 interruption`, `2 interruptions`."""
    return f"{number or 'no'} {thing}{'s' * (number != 1)}"


def names(nodes: Sequence[str]) -> str:
    """All of a few, else the first ones and how many more; `-` for none."""
    if len(nodes) <= _NAMES_SHOWN:
        return ", ".join(nodes) or "-"
    return f"{', '.join(nodes[:_NAMES_SHOWN])} and {len(nodes) - _NAMES_SHOWN} more"


def clock(at: float, *, now: float) -> str:
    """The local time, with the date where that is not today's."""
    then, today = (dt.datetime.fromtimestamp(moment).astimezone() for moment in (at, now))
    return f"{then:%H:%M:%S}" if then.date() == today.date() else f"{then:%Y-%m-%d %H:%M:%S}"


def one_line(text: str, width: int) -> str:
    """The text without colours, line breaks and control characters, cut to `width`: a log may hold anything."""
    flat = "".join(char if char.isprintable() else " " for char in _COLOUR.sub("", text))
    flat = " ".join(flat.split())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns two spaces apart, each as wide as its widest cell; the last one is not padded."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    padded = (map(str.ljust, row, widths) for row in [head, *rows])
    return ["  ".join(cells).rstrip() for cells in padded]
