"""No figure is tipped by what one job claims, or by jobs that were not read."""

from typing import Any

import pytest

from supervisor.ledger.site.history import JobHistory
from supervisor.model.ids import JobId, NodeName
from supervisor.report.fleet.window import DAY_S
from tests.report.fleet.made import HOUR, NOW, group, history, incident, report, weeks

_WEEK = 7 * DAY_S


def _claims(lost_node_s: float, **changes: Any) -> JobHistory:
    """A job that says to have begun half a century ago."""
    return history(
        incident(1, lost_node_s=lost_node_s), incident(2, lost_node_s=lost_node_s), days=20_000.0, end="", **changes
    )


def test_a_job_loses_no_more_than_it_held_in_the_window() -> None:
    """In every figure: the whole, its histograms, its single interruptions."""
    made = report(_claims(1e15), since=NOW - _WEEK)
    assert made.cost.node_h == pytest.approx(4 * (_WEEK / HOUR - 1), rel=1e-4)
    for name in ("node", "user", "size", "day"):
        assert sum(row.cost.node_h for row in group(made, name).rows) == pytest.approx(made.cost.node_h)
    assert [row.cost.node_h for row in made.rows] == [pytest.approx(made.cost.node_h / 2)] * 2


def test_a_job_whose_nodes_nobody_knows_loses_no_more_than_its_interruptions_had() -> None:
    """An own run without Slurm has no list of them."""
    most = report(_claims(1e15), since=NOW - _WEEK).cost.node_h
    assert report(_claims(1e15, nodes=()), since=NOW - _WEEK).cost.node_h == pytest.approx(most)


def test_what_a_job_has_lost_since_its_use_was_told_counts() -> None:
    """Use is told once an hour: a job that was interrupted before has held nothing yet, as far as anybody wrote."""
    young = history(
        incident(at=NOW - 600.0, lost_node_s=4 * 300.0), days=0.0, ended_at=NOW - 1800.0, end="", job=JobId("5")
    )
    assert report(young).cost.node_h == pytest.approx(4 * 300.0 / HOUR)


def test_an_interruption_lasts_beyond_the_newest_word() -> None:
    """Of an older job of a run folder nothing is known but its interruption."""
    made = report(history(incident(at=NOW - DAY_S, lost_node_s=4 * 70.0), days=0.0, ended_at=NOW - DAY_S, end="failed"))
    assert made.cost.node_h == pytest.approx(4 * 70.0 / HOUR)


def test_windows_of_which_not_all_jobs_were_read_are_left_out() -> None:
    """They hold the jobs alone that went on for long, and those are not like the others."""
    jobs = [*weeks([0.9] * 5), history(days=70.0, ratio=0.99, job=JobId("long"), nodes=(NodeName("n1"),))]
    assert len(report(*jobs).ettr.windows) == 11
    read = report(*jobs, since=NOW - _WEEK).ettr.windows
    assert len(read) == 5
    assert read[0].begins_at >= NOW - 35 * DAY_S
    assert len(report(*jobs, since=NOW - 70 * DAY_S).ettr.windows) == 10


def test_accounting_is_compared_within_the_time_that_was_asked_for() -> None:
    """Nothing before it was read."""
    jobs = weeks([0.9] * 5)
    assert len(report(*jobs, source="sacct", since=NOW - 15 * DAY_S).ettr.windows) == 2
    assert len(report(*jobs, source="sacct", since=NOW - 36 * DAY_S).ettr.windows) == 5
