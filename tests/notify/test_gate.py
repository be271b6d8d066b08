"""Few messages: never the same twice within an hour, never more than a person reads."""

from typing import Any

from supervisor.notify.gate import HOUR_S, MOST, Kept, passed
from supervisor.notify.message import Message
from tests.notify.made import message


class _Run:
    """Messages of one run, one after the other."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.number = 0

    def tell(self, at: float, *, once: str = "", **changes: Any) -> Message | None:
        self.number += 1
        self.kept, told = passed(self.kept, message(**changes), once or f"incident {self.number}", at)
        return told


def test_the_same_failure_is_told_once_an_hour() -> None:
    """And again after it: it still goes on."""
    run = _Run()
    assert run.tell(0.0)
    assert run.tell(10.0) is None
    assert run.tell(HOUR_S - 1) is None
    assert run.tell(HOUR_S + 1)


def test_another_failure_is_news() -> None:
    """So is the stop after an interruption by the same failure."""
    run = _Run()
    assert run.tell(0.0, kind="interrupted")
    assert run.tell(1.0, kind="interrupted", fingerprint="other")
    assert run.tell(2.0, kind="stopped")


def test_an_interruption_is_told_a_single_time() -> None:
    """Its record is written again hours later, when the run has caught up."""
    run = _Run()
    assert run.tell(0.0, once="incident 1 relaunch")
    assert run.tell(2 * HOUR_S, once="incident 1 relaunch") is None


def test_after_six_in_an_hour_one_says_that_more_are_held_back() -> None:
    """Then silence until the hour is over, and the next one tells how many were not sent."""
    run = _Run()
    told = [run.tell(float(number), kind="interrupted", fingerprint=str(number)) for number in range(12)]
    sent = [one for one in told if one]
    assert len(sent) == MOST + 1
    assert "held back" in sent[-1].text
    assert not any("held back" in one.text for one in sent[:-1])
    later = run.tell(HOUR_S + 20, kind="interrupted", fingerprint="new")
    assert later
    assert later.held_back == 5
    assert "5 earlier messages of this run were not sent." in later.text
    assert run.kept.held_back == 0


def test_the_stop_gets_through_once() -> None:
    """It is what nobody must miss, however much was told before."""
    run = _Run()
    for number in range(12):
        run.tell(float(number), kind="interrupted", fingerprint=str(number))
    stop = run.tell(20.0)
    assert stop
    assert stop.held_back == 5
    assert run.tell(21.0, fingerprint="another") is None


def test_a_clock_that_jumps_back_holds_nothing_for_ever() -> None:
    """What seems to have been sent in the future does not count."""
    run = _Run()
    assert run.tell(1e9)
    assert run.tell(1000.0)


def test_what_is_remembered_stays_small() -> None:
    """A run may be interrupted a thousand times."""
    run = _Run()
    for number in range(1000):
        run.tell(number * 100.0, kind="interrupted", fingerprint=str(number))
    assert len(run.kept.sent) <= MOST + 2
    assert len(run.kept.told) <= 64
