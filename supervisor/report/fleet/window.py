"""The time that is asked for, and the days and weeks in it. Days are UTC, as the months of a ledger are."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, Literal

DAY_S: Final = 86_400.0
WEEK_DAYS: Final = 7
TREND_WINDOWS: Final = 5
"""Read at least: one before three falls, and one more for a source whose oldest jobs began before it."""


MOST_WINDOWS: Final = 13
"""Of a trend; a job that claims to have begun in 1970 is not gone through week by week."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The window of a report; what follows from it is asked for with each job, and reckoned once."""

    since: float | None = None
    until: float
    rows: int | None = 20
    """How many single interruptions are kept, the newest; None: all."""

    @cached_property
    def begin(self) -> float:
        """`since` as a number."""
        return -math.inf if self.since is None else self.since

    @cached_property
    def step(self) -> Literal["day", "week"]:
        """What a trend compares: weeks, but days where less than a week is asked for."""
        is_short = self.since is not None and self.until - self.since < WEEK_DAYS * DAY_S - 1
        return "day" if is_short else "week"

    @cached_property
    def step_days(self) -> int:
        """Days of such a window."""
        return 1 if self.step == "day" else WEEK_DAYS

    @property
    def read_since(self) -> float | None:
        """The trend needs what was before."""
        if self.since is None:
            return None
        return min(self.since, self.until - TREND_WINDOWS * self.step_days * DAY_S)

    @cached_property
    def last_day(self) -> int:
        """The day in which the time that is asked for ends."""
        return math.ceil(self.until / DAY_S) - 1

    def index(self, at: float) -> int:
        """Which window this moment lies in, counted back from the newest one, 0."""
        return (self.last_day - int(at // DAY_S)) // self.step_days

    def begins_at(self, index: int) -> float:
        """When that window begins."""
        return (self.last_day + 1 - (index + 1) * self.step_days) * DAY_S

    def week_of(self, day: int) -> int:
        """The first day of the week that this day lies in; weeks end with the last day."""
        return self.last_day + 1 - ((self.last_day - day) // WEEK_DAYS + 1) * WEEK_DAYS


def overlap(begin: float, end: float, since: float, until: float) -> float:
    """Which share of the time from `begin` to `end` lies within `since` to `until`; a moment lies in it or not."""
    if end <= begin:
        return float(since <= begin < until)
    return max(0.0, min(end, until) - max(begin, since)) / (end - begin)


def day_text(day: int) -> str:
    """`2026-11-30`."""
    return f"{datetime.fromtimestamp(day * DAY_S, UTC):%Y-%m-%d}"
