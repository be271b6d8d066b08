"""Each figure of the report, on histories small enough to reckon by hand."""

from array import array

import pytest

from supervisor.ledger.site.history import SiteHistory, UnseenFailure
from supervisor.model.ids import JobId, NodeName
from supervisor.model.records import Split
from supervisor.model.verdict import Class
from supervisor.report.fleet.make import report_of
from supervisor.report.fleet.profile import PUBLISHED, TABLE, row_of
from supervisor.report.fleet.speed import spread
from supervisor.report.fleet.sums import Durations
from supervisor.report.fleet.tally import size_class
from supervisor.report.fleet.window import DAY_S, Asked
from tests.report.fleet.made import HOUR, NOW, group, history, incident, report, weeks


def test_a_loss_is_told_in_gpu_hours_and_kwh() -> None:
    """Node time times GPUs; energy at the job's mean power."""
    job = history(incident(lost_node_s=HOUR), days=1.0, energy_j=4 * DAY_S * 2000.0)
    cost = report(job).cost
    assert (cost.node_h, cost.gpu_h, cost.bare_node_h) == (1.0, 8.0, 0.0)
    assert cost.kwh == pytest.approx(2.0)


def test_where_no_gpus_are_known_node_hours_count() -> None:
    """And energy that nobody read is not nothing."""
    cost = report(history(incident(lost_node_s=HOUR), gpus_per_node=0)).cost
    assert (cost.node_h, cost.gpu_h, cost.bare_node_h, cost.kwh) == (1.0, 0.0, 1.0, None)


def test_classes_and_causes_are_counted() -> None:
    """All five rows are there, planned stops are none; a node is the first one to blame."""
    made = report(
        history(
            incident(1),
            incident(2, cause="nic_failure", nodes=(NodeName("b"), NodeName("a"))),
            incident(3, cls=Class.SOFTWARE, cause="cuda_oom", nodes=(), action="stop"),
            incident(4, cls=Class.PLANNED, cause="walltime", action="none"),
        )
    )
    assert [(row.name, row.interruptions) for row in made.classes] == [
        ("hardware", 2),
        ("software", 1),
        ("data", 0),
        ("network", 0),
        ("unknown", 0),
    ]
    assert [row.name for row in made.classes[0].causes] == ["gpu_lost", "nic_failure"]
    assert (made.interruptions, made.planned, made.handled, made.unknown) == (3, 1, 2, 0)
    assert {row.name for row in group(made, "node").rows} == {"node003", "b", "none named"}
    assert group(made, "size").rows[0].name == "3~4"
    assert group(made, "user").rows[0].classes == (("hardware", 2), ("software", 1))


def test_days_and_weeks_end_with_the_window() -> None:
    """Days are UTC; a week is the last seven days."""
    made = report(history(incident(1, at=NOW - 6.5 * DAY_S), incident(2, at=NOW), incident(3, at=NOW - 1), days=9.0))
    assert [(row.name, row.interruptions) for row in group(made, "day").rows] == [("2026-02-09", 1), ("2026-02-15", 1)]
    assert [(row.name, row.interruptions) for row in group(made, "week").rows] == [("2026-02-09", 2)]


@pytest.mark.parametrize(("nodes", "size"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (64, 64), (65, 128)])
def test_sizes_are_powers_of_two(nodes: int, size: int) -> None:
    """The smallest that holds the job."""
    assert size_class(nodes) == size


def test_the_time_between_interruptions_has_an_interval() -> None:
    """Two in 48 hours of a job of four nodes."""
    made = report(history(incident(1), incident(2), days=2.0))
    rate = made.mtbi_by_size[0]
    assert rate.nodes == "3~4"
    assert (rate.job_h, rate.node_d) == pytest.approx((48.0, 8.0))
    assert rate.mtbi_h.estimate == pytest.approx(24.0)
    assert rate.mtbi_h.low == pytest.approx(48 / 7.2247, rel=1e-4)
    assert rate.mtbi_h.high == pytest.approx(48 / 0.2422, rel=1e-3)
    assert rate.per_1000_node_d.estimate == pytest.approx(250.0)


def test_no_interruption_gives_a_bound_and_no_estimate() -> None:
    """Nothing was seen in 48 hours: it is not `never`."""
    rate = report(history(days=2.0)).mtbi
    assert (rate.mtbi_h.estimate, rate.mtbi_h.high) == (None, None)
    assert rate.mtbi_h.low == pytest.approx(48 / 3.6889, rel=1e-4)


def test_only_what_lies_in_the_window_counts() -> None:
    """A job's use is spread over its time; interruptions count by their own."""
    made = report(history(incident(1, at=NOW - 3 * DAY_S), incident(2), days=4.0, ended_at=NOW), since=NOW - 2 * DAY_S)
    assert made.interruptions == 1
    assert made.ettr.held_node_h == pytest.approx(2 * 24 * 4)
    assert report(history(), since=NOW - 1.0).jobs == 0


def test_ettr_is_computing_over_held() -> None:
    """Of the fleet by node time, and of each run over all its jobs."""
    first = history(ratio=0.5, days=1.0, job=JobId("1"))
    second = history(ratio=1.0, days=3.0, job=JobId("2"))
    made = report(first, second)
    assert made.ettr.ratio == pytest.approx(0.875)
    (run,) = made.ettr.lowest
    assert (run.run, run.job) == ("r1", "2")
    assert run.ettr == pytest.approx(0.875)


def test_three_falls_in_a_row_are_for_a_person() -> None:
    """Four windows, each lower than the one before; with the classes in the first line."""
    made = report(*weeks([0.99, 0.96, 0.952, 0.938, 0.917]), since=NOW - 7 * DAY_S)
    assert made.ettr.is_escalated
    assert not made.is_ok
    assert made.conclusion == (
        "NOT OK: effective training time fell 4 weeks in a row (99.0% -> 96.0% -> 95.2% -> 93.8% -> 91.7%), "
        "a person should look (hardware 0, software 0, network 0, data 0, unknown 0)."
    )


@pytest.mark.parametrize(
    "ratios",
    [[0.95, 0.94, 0.93], [0.95, 0.96, 0.94, 0.93], [0.95, 0.94, 0.93, 0.935], [0.95, 0.9499, 0.9498, 0.9497]],
    ids=["two falls", "a rise before", "a rise at the end", "less than a tenth of a percent"],
)
def test_less_than_three_falls_is_no_trend(ratios: list[float]) -> None:
    """Noise calls nobody."""
    made = report(*weeks(ratios))
    assert not made.ettr.is_escalated
    assert made.is_ok


def test_a_window_with_hardly_anything_held_breaks_the_row() -> None:
    """It cannot be compared."""
    jobs = weeks([0.96, 0.95, 0.94, 0.93])
    jobs[1] = history(days=0.01, ratio=0.95, ended_at=jobs[1].last_at, job=JobId("1"))
    made = report(*jobs)
    assert [one.ettr is None for one in made.ettr.windows] == [False, True, False, False]
    assert not made.ettr.is_escalated


def test_a_trend_has_thirteen_windows_at_most() -> None:
    """Also where a record claims that its job began half a century ago."""
    made = report(history(days=20_000.0))
    assert len(made.ettr.windows) == 13
    assert made.ettr.ratio == pytest.approx(0.9)


def test_less_than_a_week_is_compared_by_days() -> None:
    """And what was before is read for the trend alone."""
    assert Asked(until=NOW, since=NOW - 7 * DAY_S).step == "week"
    assert Asked(until=NOW, since=NOW - 6 * DAY_S).step == "day"
    assert Asked(until=NOW, since=NOW - 7 * DAY_S).read_since == NOW - 35 * DAY_S
    assert Asked(until=NOW, since=NOW - 99 * DAY_S).read_since == NOW - 99 * DAY_S
    assert Asked(until=NOW).read_since is None


def test_speed_is_median_p90_and_longest() -> None:
    """Of what was measured; the largest part of recoveries has its remedy."""
    found = spread(Durations([array("d", [1.0, 3.0, 5.0, 7.0, 9.0]), array("d", [2.0, 4.0, 6.0, 8.0, 10.0])]))
    assert found is not None
    assert (found.median_s, found.p90_s, found.max_s, found.known) == (5.5, 9.0, 10.0, 10)
    assert spread(Durations()) is None
    made = report(history(incident(1), incident(2, split=Split(), recovery_s=None)))
    assert made.speed.detection is not None
    assert made.speed.detection.known == 1
    assert made.speed.parts[0].name == "catch_up"
    assert made.speed.parts[0].share == pytest.approx(60 / 73.1)
    assert "save checkpoints more often" in made.speed.remedy
    assert report(history()).speed.remedy == ""


def test_times_that_cannot_be_are_no_measurements() -> None:
    """A record may claim anything."""
    made = report(history(incident(split=Split(detect=-1.0, stop=1e12, launch=-5.0), recovery_s=1e14)))
    assert (made.speed.detection, made.speed.recovery, made.speed.parts) == (None, None, ())


def test_a_file_in_the_name_of_another_counts_in_nothing() -> None:
    """It is told, with its owner."""
    made = report(history(incident(), is_trusted=False))
    assert (made.jobs, made.interruptions, made.runs, made.ettr.ratio) == (0, 0, 0, None)
    assert made.untrusted == (("anna", 1),)


def test_what_nobody_acted_on_was_not_handled() -> None:
    """Its batch host died before the decision."""
    assert "all handled without a person" in report(history(incident(action="relaunch"))).conclusion
    assert "0 handled without a person" in report(history(incident(action="none"))).conclusion


def test_a_ledger_of_which_most_cannot_be_believed_is_not_quiet() -> None:
    """A machine that knows no users must not make the page green."""
    forged = history(incident(), is_trusted=False, job=JobId("7"))
    made = report(forged)
    assert made.conclusion.startswith("NOT OK: 1 job cannot be believed: ")
    assert not made.is_ok
    assert report(history(), forged).is_ok


def test_a_run_that_was_taken_up_again_waits_for_nobody() -> None:
    """The newest job of the run tells."""
    stopped = history(incident(action="stop"), end="stopped", ended_at=NOW - DAY_S / 2, job=JobId("1"))
    assert [one.job for one in report(stopped).waiting] == ["1"]
    assert report(stopped, history(job=JobId("2"), end="")).waiting == ()


def test_faults_of_the_machine_block_and_users_own_do_not() -> None:
    """In a site's report; in a user's own runs all do."""
    mine = history(incident(cls=Class.SOFTWARE, cause="cuda_oom", action="stop"), end="stopped")
    made = report(mine)
    assert made.is_ok
    assert made.conclusion == ("OK: 1 interruption in 1 job, 0 handled without a person, 1 run waits for its user.")
    assert report(mine, source="runs").conclusion == ("NOT OK: 1 run needs a person: `supervise why` each: r1.")
    sick = history(incident(1), incident(2, action="stop"), end="stopped", job=JobId("9"), run="r9")
    made = report(sick)
    assert (made.is_ok, made.look_first) == (False, ("node003",))
    assert made.conclusion == "NOT OK: 1 run needs a person: job 9 (hardware/gpu_lost). Look at node003 first."


def test_nothing_is_ok() -> None:
    """No jobs, and no interruptions."""
    assert report().conclusion == "OK: nothing to report, no jobs are known in this time."
    assert report(history()).conclusion == "OK: no interruptions in 1 job."
    assert report(history(), source="runs").conclusion == "OK: no interruptions in 1 run."


def test_the_published_table_is_whole() -> None:
    """419 unexpected interruptions; every class has a row for the rest."""
    assert PUBLISHED == 419
    assert len({name for name, _, _ in TABLE}) == len(TABLE)
    assert row_of("gpu_hbm_uncorrectable", "hardware") == "GPU HBM memory"
    assert row_of("anything_new", "hardware") == "other hardware"
    assert {row_of("x", cls) for cls in Class if cls is not Class.PLANNED} == {
        "other hardware",
        "network switch or cable",
        "software bug",
        "data",
        "collective watchdog, unknown",
    }


def test_few_interruptions_differ_from_no_published_share() -> None:
    """Two of two are within chance of a third; forty of forty are not."""
    few = report(history(incident(1), incident(2))).profile
    assert few.rows[0].name == "faulty GPU"
    assert (few.rows[0].ours, few.rows[0].is_different) == (2, False)
    many = report(history(*(incident(number) for number in range(1, 41)))).profile
    assert many.rows[0].is_different


def test_the_blind_spot_is_counted() -> None:
    """What accounting knows of jobs without supervision, at most with all that they held."""
    failure = UnseenFailure(
        at=NOW - 1,
        job=JobId("3"),
        state="NODE_FAIL",
        nodes=(NodeName("n1"), NodeName("n2")),
        failed=(NodeName("n1"),),
        gpus_per_node=4,
        held_s=HOUR,
    )
    old = UnseenFailure(at=NOW - 9 * DAY_S, job=JobId("4"), state="NODE_FAIL")
    known = SiteHistory(unseen=(old, failure))
    made = report_of(known, Asked(until=NOW, since=NOW - DAY_S), source="sacct")
    assert made.unseen is not None
    assert (made.unseen.failures, made.unseen.states, made.unseen.nodes) == (1, (("NODE_FAIL", 1),), (("n1", 1),))
    assert made.unseen.cost_at_most.gpu_h == 8.0
    assert made.ettr.is_at_most
    assert report_of(known, Asked(until=NOW), source="ledger").unseen is None


def test_users_are_called_as_asked() -> None:
    """Everywhere: groups, runs, rows, those who wait; two that share a name are one row."""
    jobs = (
        history(incident(action="stop"), end="stopped"),
        history(incident(), user="ben", job=JobId("2"), run="r2"),
        history(is_trusted=False, user="cleo", job=JobId("3")),
    )
    made = report_of(SiteHistory(jobs=jobs), Asked(until=NOW), source="ledger", name_of=lambda _: "")
    assert [(row.name, row.interruptions) for row in group(made, "user").rows] == [("unknown", 2)]
    assert not any(name in repr(made) for name in ("anna", "ben", "cleo"))
