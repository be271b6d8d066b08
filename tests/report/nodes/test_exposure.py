"""How long nodes have worked."""

from dataclasses import replace

import pytest

from supervisor.report.nodes.exposure import exposure
from supervisor.report.nodes.model import Look
from tests.report.nodes.fleets import DAY_S, HOUR_S, LOOK, SINCE, UNTIL, incident, job


def test_each_node_of_a_job_worked_as_long_as_it_was_held() -> None:
    """By the job's last word on its use."""
    assert exposure([job(hours=10)], LOOK) == pytest.approx({"n000": 10, "n001": 10})
    assert exposure([job(hours=10, held_h=5)], LOOK) == pytest.approx({"n000": 2.5, "n001": 2.5})


def test_a_job_without_a_word_on_its_use_counts_until_its_last_word() -> None:
    """It may have died before it could say more."""
    silent = replace(job(incident(SINCE + DAY_S + 2 * HOUR_S, "n000")), use=None)
    assert exposure([silent], LOOK) == pytest.approx({"n000": 2, "n001": 2})


def test_what_came_after_the_last_word_on_its_use_counts_too() -> None:
    """That word comes each hour: a job that dies in its first one has held its nodes all the same."""
    begun = job(incident(SINCE + DAY_S + HOUR_S / 2, "n000"), hours=0)
    assert exposure([begun], LOOK) == pytest.approx({"n000": 0.5, "n001": 0.5})


def test_jobs_that_share_a_node_work_on_it_once() -> None:
    """It is the node that may break."""
    shared = [job(hours=10, job="1"), job(hours=10, at=SINCE + DAY_S + 5 * HOUR_S, job="2")]
    assert exposure(shared, LOOK) == pytest.approx({"n000": 15, "n001": 15})


def test_a_node_that_left_worked_until_then() -> None:
    """The others have what remains of the job's node time."""
    left = job(incident(SINCE + DAY_S + 4 * HOUR_S, "n000", excluded=("n000",)), hours=10, held_h=14)
    assert exposure([left], LOOK) == pytest.approx({"n000": 4, "n001": 10})


def test_only_the_window_counts_and_only_what_was_after_a_repair() -> None:
    """At both ends."""
    early, late = job(hours=10, at=SINCE - 5 * HOUR_S), job(hours=10, at=UNTIL - 3 * HOUR_S)
    assert exposure([early, late], LOOK) == pytest.approx({"n000": 8, "n001": 8})
    mended = Look(since=SINCE, until=UNTIL, returned={"n000": SINCE + 4 * HOUR_S, "n001": UNTIL + 1})
    assert exposure([early], mended) == pytest.approx({"n000": 1})


def test_nobody_claims_more_than_the_window_has() -> None:
    """Forged or overlapping jobs must not make others look bad by comparison."""
    claims = [job(hours=14 * 24, at=SINCE, job=f"{number}", held_h=1e9) for number in range(9)]
    assert exposure(claims, LOOK) == pytest.approx({"n000": 14 * 24, "n001": 14 * 24})


def test_what_is_called_as_no_node_can_be_is_none() -> None:
    """Its name would stand in tables and commands."""
    hostile = ("n000", "$(reboot)", "\x1b[2J", "a b", "", "-x")
    assert set(exposure([job(nodes=hostile)], LOOK)) == {"n000"}
