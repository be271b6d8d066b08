"""What holds of every report, whatever the histories are."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.ledger.site.history import JobHistory
from supervisor.model.ids import JobId
from supervisor.report.fleet.make import report
from supervisor.report.fleet.model import FleetReport, Row
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import DAY_S, Asked
from tests.report.fleet.made import NOW, history, incident
from tests.report.fleet.strategies import ASKED, JOBS


def _made(jobs: Iterable[JobHistory], asked: Asked) -> FleetReport:
    return report(Tally(asked).add_all(jobs), source="ledger")


def _total(rows: Iterable[Row]) -> tuple[int, int, float, float, float, float]:
    rows = list(rows)
    return (
        sum(row.interruptions for row in rows),
        sum(row.by_person for row in rows),
        sum(row.cost.node_h for row in rows),
        sum(row.cost.gpu_h for row in rows),
        sum(row.cost.bare_node_h for row in rows),
        sum(row.cost.kwh or 0.0 for row in rows),
    )


@settings(deadline=None)
@given(JOBS, ASKED)
def test_every_grouping_sums_up_to_the_whole(jobs: list[JobHistory], asked: Asked) -> None:
    """Each interruption is in exactly one row of each histogram, with all that it cost."""
    made = _made(jobs, asked)
    cost = made.cost
    whole = (
        made.interruptions,
        made.interruptions - made.handled - made.not_over,
        *(cost.node_h, cost.gpu_h, cost.bare_node_h, cost.kwh or 0.0),
    )
    for rows in (made.classes, [cause for row in made.classes for cause in row.causes], *(g.rows for g in made.groups)):
        assert _total(rows) == pytest.approx(whole, abs=1e-6)
        assert sum(row.share for row in rows) == pytest.approx(1.0 if made.interruptions else 0.0)
    for group in made.groups:
        assert all(sum(number for _, number in row.classes) == row.interruptions for row in group.rows)
    assert sum(row.ours for row in made.profile.rows) == made.interruptions == len(made.rows)
    assert sum(rate.interruptions for rate in made.mtbi_by_size) == made.mtbi.interruptions == made.interruptions


@settings(deadline=None)
@given(JOBS, ASKED)
def test_ratios_lie_between_nothing_and_all(jobs: list[JobHistory], asked: Asked) -> None:
    """ETTR of the fleet, of windows, of runs; intervals contain their estimates."""
    made = _made(jobs, asked)
    ratios = [made.ettr.ratio, *(one.ettr for one in made.ettr.windows), *(one.ettr for one in made.ettr.lowest)]
    assert all(0.0 <= ratio <= 1.0 for ratio in ratios if ratio is not None)
    assert made.ettr.computing_node_h <= made.ettr.held_node_h * (1 + 1e-9)
    for rate in (made.mtbi, *made.mtbi_by_size):
        for found in (rate.mtbi_h, rate.per_1000_node_d):
            if found.estimate is not None:
                assert found.low is not None
                assert found.low <= found.estimate <= (found.high if found.high is not None else float("inf"))
    for row in made.profile.rows:
        assert row.share.low is not None
        assert row.share.high is not None
        assert row.share.low <= (row.share.estimate or 0.0) <= row.share.high


def _figures(made: FleetReport) -> object:
    cost = made.cost
    return (
        *(made.is_ok, made.interruptions, made.handled, made.not_over, made.unknown),
        *(made.planned, made.jobs, made.runs),
        [(row.name, row.interruptions) for group in made.groups for row in group.rows if group.by in {"day", "size"}],
        {(row.name, row.interruptions, row.by_person) for group in made.groups for row in group.rows},
        made.speed.detection,
        made.speed.recovery,
        {(one.run, one.job) for one in made.waiting},
        made.untrusted,
        [pytest.approx(value, rel=1e-6, abs=1e-6) for value in (cost.node_h, cost.gpu_h, cost.kwh or 0.0)],
        [
            pytest.approx(value, rel=1e-6, abs=1e-6)
            for value in (made.ettr.computing_node_h, made.ettr.held_node_h, made.mtbi.job_h, made.mtbi.node_d)
        ],
    )


@settings(deadline=None)
@given(JOBS, ASKED, st.randoms(use_true_random=False))
def test_the_order_of_jobs_tells_nothing(jobs: list[JobHistory], asked: Asked, chance: random.Random) -> None:
    """Nor do the parts in which they are read."""
    jobs = list({(one.job.job, one.job.run): one for one in jobs}.values())
    other = list(jobs)
    chance.shuffle(other)
    cut = len(other) // 2
    parts = Tally(asked).add_all(other[:cut])
    parts.merge(Tally(asked).add_all(other[cut:]))
    first = _figures(_made(jobs, asked))
    assert first == _figures(_made(other, asked))
    assert first == _figures(report(parts, source="ledger"))


@settings(deadline=None)
@given(st.lists(st.floats(0, 40 * DAY_S), max_size=60), st.integers(0, 12))
def test_the_newest_rows_are_kept(agos: list[float], rows: int) -> None:
    """As many as asked for, in time."""
    jobs = [
        history(*(incident(n, at=NOW - 1 - ago) for n, ago in enumerate(agos[index::3], 1)), job=JobId(str(index)))
        for index in range(3)
    ]
    made = _made(jobs, Asked(until=NOW, rows=rows))
    assert [row.at for row in made.rows] == sorted(NOW - 1 - ago for ago in agos)[max(0, len(agos) - rows) :]
