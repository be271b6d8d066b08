"""Figures as people read them: every number with its unit, `~` for ranges, no space before `%`. Pure."""

from typing import Final

from supervisor.report.fleet.model import Cost, Interval

_WHOLE_FROM: Final = 100.0
_TENTHS_FROM: Final = 1.0


def percent(share: float) -> str:
    """`95.2%`."""
    return f"{share * 100:.1f}%"


def number(value: float) -> str:
    """`1,420`, `4.1`, `0.032`, `0`: three digits are enough for what was measured."""
    if abs(value) >= _WHOLE_FROM:
        return f"{value:,.0f}"
    if abs(value) >= _TENTHS_FROM or value == 0:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.2g}"


def many(count: int, thing: str) -> str:
    """`1 job`, `20,000 jobs`, `no jobs`."""
    return f"{count:,} {thing}{'s' * (count != 1)}" if count else f"no {thing}s"


def cost(spent: Cost) -> str:
    """`1,420 GPU-h`; with `+ 12 node-h` of jobs whose GPUs nobody knows; node-hours alone where there are no others."""
    parts = [f"{number(spent.gpu_h)} GPU-h"] if spent.gpu_h else []
    if spent.bare_node_h or not parts:
        parts.append(f"{number(spent.bare_node_h)} node-h")
    return " + ".join(parts)


def energy(kwh: float | None) -> str:
    """`94 kWh`; empty where it was not read."""
    return "" if kwh is None else f"{number(kwh)} kWh"


def hours(found: Interval) -> str:
    """`4.1 h (95%: 3.0~5.7)`; `more than 12 h (95%)` where nothing has happened; `not known`."""
    if found.low is None:
        return "not known"
    if found.estimate is None or found.high is None:
        return f"more than {number(found.low)} h (95%)"
    return f"{number(found.estimate)} h (95%: {number(found.low)}~{number(found.high)} h)"


def per(found: Interval, unit: str) -> str:
    """`3.8 (95%: 3.4~4.2) per 1,000 node-days`."""
    if found.estimate is None or found.low is None or found.high is None:
        return "not known"
    return f"{number(found.estimate)} (95%: {number(found.low)}~{number(found.high)}) {unit}"
