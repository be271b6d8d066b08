"""Times as people type them."""

import datetime as dt
import time
from collections.abc import Iterator
from zoneinfo import ZoneInfo

import pytest

from supervisor.cli.moment import Ahead

_BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A zone whose clocks change."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("now", "typed", "then"),
    [
        ("2026-01-31T17:59", "18:00", "2026-01-31T18:00"),
        ("2026-01-31T18:00", "18:00", "2026-02-01T18:00"),
        ("2026-03-28T20:00", "18:00", "2026-03-29T18:00"),
        ("2026-03-29T01:00", "18:00", "2026-03-29T18:00"),
        ("2026-10-24T20:00", "8:30", "2026-10-25T08:30"),
    ],
)
def test_the_next_time_of_a_clock_is_the_zones(
    monkeypatch: pytest.MonkeyPatch, now: str, typed: str, then: str
) -> None:
    """Also over the nights in which the clocks change."""
    at = dt.datetime.fromisoformat(now).replace(tzinfo=_BERLIN).timestamp()
    monkeypatch.setattr(time, "time", lambda: at)
    assert Ahead().convert(typed, None, None) == dt.datetime.fromisoformat(then).replace(tzinfo=_BERLIN).timestamp()
