"""One measure and its bar, as a row for people or an object for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

Pair = tuple[float, float]
"""Without us, with us; measured one right after the other."""

_DIGITS = 4


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A value beside its bar; `beside` says what it stands next to."""

    measure: str
    value: float
    unit: str
    limit: float | None = None
    """None: there is no bar, the value explains another one."""
    way: Literal["<=", ">="] = "<="
    beside: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def bar(self) -> str | None:
        """The bar in words."""
        return None if self.limit is None else f"{self.way} {self.limit:g}"

    @property
    def ok(self) -> bool | None:
        """Whether the bar is met; None: there is none."""
        if self.limit is None:
            return None
        return self.value <= self.limit if self.way == "<=" else self.value >= self.limit

    def as_json(self) -> str:
        """One object on one line."""
        shown = {"measure": self.measure, "value": _rounded(self.value), "unit": self.unit, "bar": self.bar}
        beside = {name: _rounded(value) for name, value in self.beside.items()}
        return json.dumps({**shown, "ok": self.ok, "beside": beside})

    def as_row(self) -> str:
        """One row of the table."""
        verdict = {True: "ok", False: "OVER", None: ""}[self.ok]
        beside = ", ".join(f"{name} {_text(value)}" for name, value in self.beside.items())
        value = f"{_text(self.value)} {self.unit}"
        return _row(self.measure, value, self.bar or "", verdict, beside)


def header() -> str:
    """The table's first row."""
    return _row("measure", "value", "bar", "", "beside")


def _row(measure: str, value: str, bar: str, verdict: str, beside: str) -> str:
    return f"{measure:<52} {value:>14}  {bar:<8} {verdict:<5} {beside}".rstrip()


def _rounded(value: float | str) -> float | str:
    return value if isinstance(value, str) else round(value, _DIGITS)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{round(value, _DIGITS):.4g}"


def paired_difference(pairs: Sequence[Pair]) -> float:
    """Median of second minus first over interleaved pairs: what slows both down cancels out."""
    return median(second - first for first, second in pairs)


def paired_ratio(pairs: Sequence[Pair]) -> float:
    """Median of second divided by first over interleaved pairs."""
    return median(second / first for first, second in pairs)


def without(pairs: Sequence[Pair]) -> float:
    """Median of the first ones: how it is without us."""
    return median(first for first, _ in pairs)
