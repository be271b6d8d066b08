"""Times in log lines: the formats of torch, NCCL, glog, Megatron, torchtitan, Lightning, syslog, dmesg, Slurm, LSF."""

import re
from calendar import isleap
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

_CLOCK: Final = r"(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-6]\d)(?P<f>[.,]\d{1,9})?"
_MONTH: Final = r"(?P<b>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_YEAR: Final = r"(?P<y>(?:19|20)\d\d)"
_ZONE: Final = r"(?P<z>Z|[+-]\d\d:?\d\d)?"
_FORMS: Final = tuple(
    re.compile(one)
    for one in (
        # 2026-02-24T04:10:02.123+01:00   2026-02-11 21:40:02,114   2026-01-23_02:13:05   2026/02/11 10:00:00
        rf"(?<!\d){_YEAR}[-/.](?P<mo>\d\d?)[-/.](?P<d>\d\d?)[T ,_]{{1,2}}{_CLOCK}{_ZONE}",
        # oneCCL: 2026:01:23-02:13:05
        rf"(?:^|\s){_YEAR}:(?P<mo>\d\d):(?P<d>\d\d)-{_CLOCK}",
        # Thu Nov 27 03:11:03 2025   Thu Nov 27 03:11:03 UTC 2025
        rf"{_MONTH} {{1,2}}(?P<d>\d{{1,2}}),? {_CLOCK} (?:[A-Z]{{2,5}} )?{_YEAR}",
        # Nov 27 2025 03:11:03
        rf"{_MONTH} {{1,2}}(?P<d>\d{{1,2}}),? {_YEAR},? {_CLOCK}",
        # 27/Nov/2025:03:11:03   27-Nov-2025 03:11:03   27 Nov 2025 03:11:03
        rf"(?<!\d)(?P<d>\d{{1,2}})[-/ ]{_MONTH}[-/ ]{_YEAR}[: T]{_CLOCK}",
        # 11/27/2025 03:11:03
        rf"(?<!\d)(?P<mo>\d\d)/(?P<d>\d\d)/{_YEAR},? {_CLOCK}",
        # glog and torch: E1127 03:21:09.039840104, W602 03:11:09.110002031
        rf"(?:^|[\[\s:])[IWEFC](?P<md>\d{{3,4}}) {_CLOCK}",
        # syslog: Nov 27 03:11:03
        rf"{_MONTH} {{1,2}}(?P<d>\d{{1,2}}) {_CLOCK}",
        # detectron2: [10/23 09:12:40
        rf"\[(?P<mo>\d\d)/(?P<d>\d\d) {_CLOCK}",
        # only a clock: [10:02:11]
        rf"(?:^|[\[ ]){_CLOCK}(?=[\] |,]|$)",
    )
)
_CLOCK_ONLY: Final = len(_FORMS) - 1
_OF_MODEL: Final = re.compile(
    r"Timing for |(?i:\b(?:model|simulat\w{1,8}|forecast|valid)[ _]?(?:time|date)\b)|[Bb]egin timestep|"
    r"wrf(?:out|rst|input)_"
)
"""Weather and climate codes tell the time that they compute, not the one at which they do."""
_HINT: Final = re.compile(r"\d:\d\d:\d\d")
_HINT_BYTES: Final = re.compile(_HINT.pattern.encode())
_CHARS: Final = 160
"""A time further back in a line is not the time of the line."""
_NO_YEAR: Final = 1972
"""A leap year, so that 29 February is a day."""
_DAY_S: Final = 86400.0
_LEAP: Final = (2, 29)
_LAST_S: Final = 32_503_680_000.0
"""The year 3000: a file's time may be anything."""


class Stamp(NamedTuple):
    """A time as a line tells it."""

    seconds: float
    """Since the epoch as if it were UTC; where the year lacks, in 1972; where the date lacks, since midnight."""
    lacks: Literal["", "year", "date"] = ""

    def near(self, reference: float) -> float:
        """The time since the epoch that is nearest to the reference and fits."""
        if not self.lacks:
            return self.seconds
        if self.lacks == "date":
            reference = min(max(reference, 0.0), _LAST_S)
            day = reference - reference % _DAY_S + self.seconds
            return min((day - _DAY_S, day, day + _DAY_S), key=lambda one: abs(one - reference))
        return min(_in_years(self.seconds, reference), key=lambda one: abs(one - reference))


def stamp_of(line: str) -> Stamp | None:
    """The time that stands near the beginning of the line; None where there is none."""
    head = line[:_CHARS]
    if not _HINT.search(head) or _OF_MODEL.search(head):
        return None
    for index, form in enumerate(_FORMS):
        if (match := form.search(head)) and (stamp := _stamp(match.groupdict(), is_clock=index == _CLOCK_ONLY)):
            return stamp
    return None


def may_hold_stamp(lines: bytes) -> bool:
    """False: `stamp_of` finds nothing in any of these lines. Costs far less than asking it of each."""
    return lines.count(b":") > 1 and _HINT_BYTES.search(lines) is not None


def _stamp(named: dict[str, str | None], *, is_clock: bool) -> Stamp | None:
    clock = timedelta(
        hours=int(named["h"] or 0),
        minutes=int(named["m"] or 0),
        seconds=float(f"{named['s']}.{(named.get('f') or '.0')[1:]}"),
    ).total_seconds()
    if clock >= _DAY_S:
        return None
    if is_clock:
        return Stamp(clock, "date")
    month, day = _month_and_day(named)
    year = int(named.get("y") or _NO_YEAR)
    try:
        midnight = datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return Stamp(midnight + clock, "" if named.get("y") else "year")


def _month_and_day(named: dict[str, str | None]) -> tuple[int, int]:
    if both := named.get("md"):
        return int(both[:-2]), int(both[-2:])
    name = named.get("b")
    month = _MONTHS.index(name) + 1 if name else int(named.get("mo") or 0)
    return month, int(named.get("d") or 0)


def _in_years(seconds: float, reference: float) -> list[float]:
    """The same day and clock in the years around the reference; 29 February is in leap years only."""
    when = datetime.fromtimestamp(seconds, UTC)
    middle = datetime.fromtimestamp(min(max(reference, 0.0), _LAST_S), UTC).year
    # Between 2096 and 2104 no year is a leap year: eight years on each side always hold one.
    around = range(middle - 8, middle + 9) if (when.month, when.day) == _LEAP else range(middle - 1, middle + 2)
    return [when.replace(year=year).timestamp() for year in around if (when.month, when.day) != _LEAP or isleap(year)]
