"""A time as people type it: `7d`, `12h`, `90m` or a date."""

import datetime as dt
import re
import time
from typing import Any, Final

import click

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_AGO: Final = re.compile(r"(\d{1,9})([smhdw])")
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
