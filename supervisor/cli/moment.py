"""A time as people type it: `7d`, `12h`, `90m` or a date."""

import datetime as dt
import re
import time
from typing import Any, Final

import click

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_AGO: Final = re.compile(r"(\d{1,9})([smhdw])")
_CLOCK: Final = re.compile(r"([012]?\d):([0-5]\d)")
_FORMS: Final = "7d, 12h, 90m or a date such as 2026-01-31"


class Moment(click.ParamType[float]):
    """`7d`, `12h` or a date; becomes seconds since the epoch."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """That time; asks again with the forms that are understood where it is none."""
        if ago := _AGO.fullmatch(value):
            return time.time() - int(ago[1]) * _UNITS[ago[2]]
        try:
            return dt.datetime.fromisoformat(value).astimezone().timestamp()
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; write {_FORMS}", param, ctx)


class Ahead(click.ParamType[float]):
    """`30m`, `2h`, `18:00` (the next one) or a date with a time; becomes seconds since the epoch."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """That time; asks again with the forms that are understood where it is none."""
        if later := _AGO.fullmatch(value):
            return time.time() + int(later[1]) * _UNITS[later[2]]
        try:
            if clock := _CLOCK.fullmatch(value):
                return _next(dt.time(int(clock[1]), int(clock[2])))
            return dt.datetime.fromisoformat(value).astimezone().timestamp()
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; write 30m, 2h, 18:00 or 2026-01-31T18:00", param, ctx)


def _next(clock: dt.time) -> float:
    now = dt.datetime.fromtimestamp(time.time()).astimezone()
    # Each day's hour by the zone's rules of that day: a night in which the clocks change lies between.
    days = (dt.datetime.combine(now.date() + dt.timedelta(days=days), clock).astimezone() for days in (0, 1))
    return next(then for then in days if then > now or then.date() > now.date()).timestamp()
