"""One measure and its bar, as a line for people or an object for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A value beside its bar; `beside` says what it stands next to."""

    measure: str
    value: float
    unit: str
    limit: float
    way: Literal["<=", ">="] = "<="
    beside: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the bar is met."""
        return self.value <= self.limit if self.way == "<=" else self.value >= self.limit

    def as_json(self) -> str:
        """One object on one line."""
        bar = f"{self.way} {self.limit:g}"
        value = round(self.value, 4)
        shown = {"measure": self.measure, "value": value, "unit": self.unit, "bar": bar, "ok": self.ok}
        return json.dumps({**shown, "beside": dict(self.beside)})

    def as_text(self) -> str:
        """One line for a person."""
        beside = ", ".join(f"{name} {_number(value)}" for name, value in self.beside.items())
        verdict = "ok" if self.ok else "OVER"
        return (
            f"{verdict:<5}{self.measure:<34}{_number(self.value):>10} {self.unit:<6}"
            f" bar {self.way} {self.limit:g}{'   beside: ' + beside if beside else ''}"
        )


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def paired_difference(pairs: Sequence[tuple[float, float]]) -> float:
    """Median of second minus first over interleaved pairs: what slows both down cancels out."""
    return median(second - first for first, second in pairs)


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """Median of second divided by first over interleaved pairs."""
    return median(second / first for first, second in pairs)
