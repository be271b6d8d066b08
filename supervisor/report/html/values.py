"""What the page writes beyond the figures of `fleet/wording`: what is not known, moments and days. Pure."""

from datetime import UTC, date, datetime
from typing import Final

from supervisor.report.fleet.model import Cost, Interval, Row
from supervisor.report.fleet.wording import cost, energy, percent
from supervisor.report.words import duration

NOT_KNOWN: Final = "not known"


def share(value: float | None) -> str:
    """`4.9%`."""
    return NOT_KNOWN if value is None else percent(value)


def seconds(value: float | None) -> str:
    """`2 min 51 s`."""
    return NOT_KNOWN if value is None else duration(value)


def whole_cost(spent: Cost) -> str:
    """`1,420 GPU-h, 94 kWh`."""
    return ", ".join(filter(None, (cost(spent), energy(spent.kwh))))


def share_interval(value: Interval) -> str:
    """`46.2% (40.1~52.4%)`."""
    if value.estimate is None or value.low is None or value.high is None:
        return NOT_KNOWN
    return f"{percent(value.estimate)} ({100 * value.low:.1f}~{percent(value.high)})"


def by_class(row: Row) -> str:
    """`hardware 8, network 2`."""
    return ", ".join(f"{cls} {times:,}" for cls, times in row.classes)


def moment(at: float) -> str:
    """`2026-11-30 14:02 UTC`."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def day(at: float) -> str:
    """`30 Nov`."""
    return _short(date_of(at))


def day_named(name: str) -> str:
    """`30 Nov` for `2026-11-30`."""
    return _short(date.fromisoformat(name))


def date_of(at: float) -> date:
    """The day in UTC."""
    return datetime.fromtimestamp(at, UTC).date()


def _short(found: date) -> str:
    return f"{found.day} {found:%b}"
