"""Values as people read them."""

import pytest

from supervisor.report.words import clock, duration, names, node_time, one_line, table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (1.44, "1.4 s"),
        (9.97, "10 s"),
        (59.7, "1 min"),
        (171, "2 min 51 s"),
        (3600, "1 h"),
        (10_920, "3 h 2 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    """Nobody reads milliseconds of hours."""
    assert duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(27, "27 node-s"), (720, "12 node-min"), (219_600, "61.0 node-h")])
def test_node_time_has_the_unit_that_fits(seconds: float, text: str) -> None:
    """From a blink of one machine to a night of a cluster."""
    assert node_time(seconds) == text


def test_a_time_of_another_day_has_its_date() -> None:
    """A job that runs for a week dies at some 01:12:44, and a person must know which."""
    now = 1_800_001_800.0
    assert len(clock(now - 1, now=now)) == len("01:12:44")
    assert clock(now - 200_000, now=now).startswith("2027-01-1")


def test_many_nodes_are_counted() -> None:
    """A line must not hold 2,048 names."""
    assert names([f"n{number}" for number in range(10)]) == "n0, n1, n2, n3, n4, n5 and 4 more"
    assert names([]) == "-"


def test_text_of_a_log_cannot_steer_the_terminal() -> None:
    """Colours go, other control characters and line breaks become spaces; what is too long is cut."""
    assert one_line("a\x1b[31m\n\tb\x1b[0m", 80) == "a b"
    assert one_line("a\x1b]0;title\x07b", 80) == "a ]0;title b"
    assert one_line("abcdef", 4) == "abc…"


def test_columns_line_up() -> None:
    """Each as wide as its widest cell."""
    assert table(("A", "LONG", "Z"), [("xxx", "y", "z")]) == ["A    LONG  Z", "xxx  y     z"]
