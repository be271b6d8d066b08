"""Which interruptions were handled without a person, which runs wait for one, and whose run it is."""

from dataclasses import replace
from typing import Any

import pytest

from supervisor.model.ids import JobId
from supervisor.model.verdict import Class
from supervisor.report.fleet.window import DAY_S
from tests.report.fleet.made import HOUR, NOW, history, incident, report

_LOST: dict[str, Any] = {"recovery_s": None, "is_closed": False, "action": "relaunch"}


@pytest.mark.parametrize("end", ["failed", "stopped", "cancelled", "time_limit"])
def test_a_relaunch_that_never_came_back_was_not_handled(end: str) -> None:
    """Nobody saw its ranks run, and the job is over."""
    made = report(history(incident(**_LOST), end=end))
    assert (made.interruptions, made.handled, made.not_over, made.handled_share) == (1, 0, 0, 0.0)
    assert made.classes[0].by_person == 1
    assert "all handled" not in made.conclusion


@pytest.mark.parametrize("end", ["completed", "handed_on"])
def test_a_run_that_went_on_needed_nobody(end: str) -> None:
    """Whatever was measured of the relaunch."""
    assert report(history(incident(**_LOST), end=end)).handled == 1


def test_what_is_not_over_is_counted_apart() -> None:
    """Ranks are on their way in a job that lives: it is no success yet, and no failure."""
    made = report(history(incident(1), incident(2, **_LOST, at=NOW - 900.0), end="", ended_at=NOW - 600.0))
    assert (made.interruptions, made.handled, made.not_over, made.handled_share) == (2, 1, 1, 1.0)
    assert made.conclusion == "OK: 2 interruptions in 1 job, 1 handled without a person, 1 not over yet."
    assert made.waiting == ()


def test_a_job_that_has_been_silent_does_not_live() -> None:
    """It died with its batch host: nobody wrote its end, and its run waits."""
    silent = history(incident(**_LOST), end="", ended_at=NOW - 2.1 * HOUR)
    made = report(silent)
    assert (made.handled, made.not_over, [one.job for one in made.waiting]) == (0, 0, ["17"])
    assert made.conclusion.startswith("NOT OK: 1 run needs a person: job 17 (hardware/gpu_lost)")


def test_a_relaunch_that_was_interrupted_shares_the_fate_of_what_followed() -> None:
    """A second try on a spare that came back is no case for a person; one that was stopped is."""
    first = incident(1, **_LOST)
    assert report(history(first, incident(2))).handled == 2
    assert report(history(first, incident(2, action="stop"), end="stopped")).handled == 0
    planned = incident(2, cls=Class.PLANNED, cause="walltime", action="none")
    assert report(history(first, planned, end="time_limit")).handled == 0


def test_a_job_that_failed_before_its_furthest_step_was_not_handled() -> None:
    """Its ranks ran again, and then it ended without another word."""
    made = report(history(incident(is_closed=False), end="failed"))
    assert (made.handled, len(made.waiting)) == (0, 1)
    assert report(history(incident(), end="failed")).handled == 1


def test_a_job_that_is_only_watched_and_lives_waits_for_nobody() -> None:
    """Its script went on by itself; one that writes no more does wait."""
    watched = incident(action="observe", at=NOW - DAY_S)
    assert report(history(watched, end="", ended_at=NOW - 1.9 * HOUR)).waiting == ()
    assert len(report(history(watched, end="", ended_at=NOW - 2.1 * HOUR)).waiting) == 1


@pytest.mark.parametrize("other", [{"user": "mallory"}, {"cluster": "c2"}], ids=["user", "cluster"])
def test_a_run_of_the_same_name_takes_up_nothing(other: dict[str, Any]) -> None:
    """Of another user, or on another cluster: names of runs are for everybody to read."""
    stopped = history(incident(action="stop"), end="stopped", ended_at=NOW - DAY_S / 2, job=JobId("1"))
    stranger = history(job=JobId("99"), end="completed", **other)
    made = report(stopped, stranger)
    assert (made.is_ok, made.runs, [one.job for one in made.waiting]) == (False, 2, ["1"])
    assert {one.job for one in made.ettr.lowest} == {"1", "99"}


def test_without_a_name_the_owner_tells_whose_run_it_is() -> None:
    """At a site that keeps no names two users are still two."""
    nameless = [
        replace(history(job=JobId(job), user=""), owner=owner) for job, owner in (("1", "anna"), ("2", "mallory"))
    ]
    assert report(*nameless).runs == 2


def test_a_user_under_two_names_is_one() -> None:
    """His older months have his pseudonym alone: his newer job takes up the run."""
    stopped = history(incident(action="stop"), end="stopped", ended_at=NOW - DAY_S, job=JobId("1"), user="p-17")
    jobs = [replace(job, person="p-17") for job in (stopped, history(job=JobId("2"), user="anna"))]
    made = report(*jobs)
    assert (made.runs, made.waiting) == (1, ())
