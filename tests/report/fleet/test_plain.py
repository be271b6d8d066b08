"""The quick way of making a report says the same as a slow and plain one."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.ledger.site.history import JobHistory
from supervisor.report.fleet.make import report
from supervisor.report.fleet.model import FleetReport, Spread
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import Asked
from tests.report.fleet.made import NOW
from tests.report.fleet.plain import figures
from tests.report.fleet.strategies import ASKED, JOBS


def _near(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def _spread(found: Spread | None) -> object:
    return None if found is None else (found.known, found.median_s, found.p90_s, found.max_s)


def _same(made: FleetReport, plain: dict[str, Any]) -> None:
    number = made.interruptions
    assert (made.jobs, made.runs, made.planned, number) == tuple(
        plain[name] for name in ("jobs", "runs", "planned", "interruptions")
    )
    assert (number - made.handled - made.not_over, made.not_over) == (plain["by_person"], plain["not_over"])
    assert Counter({row.name: row.interruptions for row in made.classes}) == plain["classes"]
    assert made.cost.node_h == _near(plain["lost_h"])
    assert made.cost.gpu_h == _near(plain["lost_gpu_h"])
    assert (made.cost.kwh or 0.0) == _near(plain["lost_kwh"])
    assert made.ettr.held_node_h == _near(plain["held_h"])
    for name in ("detection", "isolation", "recovery"):
        assert _spread(getattr(made.speed, name)) == plain[name]
    assert Counter(dict(made.speed.isolated_to)) == plain["isolated_to"]
    assert sum(part.seconds for part in made.speed.parts if part.name == "catch_up") == _near(plain["catch_up"])
    assert sorted((row.at, row.job, row.cause) for row in made.rows) == plain["rows"]


def _same_groups(made: FleetReport, groups: dict[str, dict[str, tuple[float, ...]]]) -> None:
    for group in made.groups:
        if group.by == "size":
            continue
        rows = {
            row.name: (row.interruptions, row.by_person, row.cost.node_h, row.cost.kwh or 0.0) for row in group.rows
        }
        assert rows == {name: tuple(map(_near, values)) for name, values in groups[group.by].items()}


@settings(deadline=None)
@given(JOBS, ASKED, st.integers(0, 8))
def test_the_quick_report_is_the_plain_one(jobs: list[JobHistory], asked: Asked, cut: int) -> None:
    """In one part and in two."""
    plain = figures(jobs, asked)
    parts = Tally(asked).add_all(jobs[:cut])
    parts.merge(Tally(asked).add_all(jobs[cut:]))
    for made in (report(Tally(asked).add_all(jobs), source="ledger"), report(parts, source="ledger")):
        _same(made, plain)
        _same_groups(made, plain["groups"])


def test_a_report_has_the_histograms_that_were_asked_for() -> None:
    """A text shows one at most; the rest of what it says is the same."""
    tally = Tally(Asked(until=NOW)).add_all([])
    assert [group.by for group in report(tally, source="ledger", by=("week", "node")).groups] == ["node", "week"]
    assert report(tally, source="ledger", by=()).groups == ()
