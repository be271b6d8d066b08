"""Which nodes are suspect: rules one by one, and the truth of fleets made by dice."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.ledger.site.history import JobHistory, SiteHistory, UnseenFailure
from supervisor.model.ids import JobId, NodeName
from supervisor.redact.text import redacted
from supervisor.report.nodes.blame import blame
from supervisor.report.nodes.chance import LEVEL
from supervisor.report.nodes.exposure import exposure
from supervisor.report.nodes.make import nodes_report
from supervisor.report.nodes.model import Standing
from supervisor.report.nodes.suspicion import Known, numbers_of, standings
from tests.report.nodes.fleets import DAY_S, HOUR_S, LOOK, SINCE, Dice, dice, incident, job, names, record

_AT = SINCE + 2 * DAY_S
_FLEET = names(64)


def _bad(owners: str, *, trusted: bool = True) -> list[JobHistory]:
    """A fleet of 64 where each owner's job is interrupted by n000."""
    jobs = [
        job(incident(_AT + at * 2 * HOUR_S, "n000", run=f"r{at}"), nodes=_FLEET, run=f"r{at}", job=f"{at}", owner=who)
        for at, who in enumerate(owners)
    ]
    return [replace(each, is_trusted=trusted) for each in jobs]


def _n000(found: tuple[Standing, ...]) -> Standing:
    return next(each for each in found if each.node == "n000")


def test_three_jobs_of_three_users_make_a_node_suspect() -> None:
    """Where the others have none."""
    found = standings(Known(jobs=_bad("abc")), LOOK)
    assert found[0].node == "n000"
    assert found[0].level == "suspect"
    assert found[0].why == ("3 incidents, 0 expected, p=0.00024 corrected for 64 looks",)
    assert (found[0].jobs.blaming, found[0].jobs.users, found[0].jobs.ran) == (3, 3, 3)
    assert all(each.level == "ok" for each in found[1:])


def test_one_user_alone_never_makes_a_node_suspect() -> None:
    """However often: it is watched. Nor do two of whom one hardly counts."""
    for owners in ("a" * 40, "a" * 40 + "b"):
        found = _n000(standings(Known(jobs=[*_bad(owners), *_elsewhere(20)]), LOOK))
        assert found.level == "watch"
        assert "mostly in jobs of one user" in found.why[0]


@pytest.mark.parametrize(("owners", "level"), [("ab", "watch"), ("a" * 9 + "b", "watch"), ("abc", "suspect")])
def test_one_liar_and_one_accident_make_no_suspect(owners: str, level: str) -> None:
    """Two incidents must be of others than the one who has most: one of them may be chance, and the rest invented."""
    found = _n000(standings(Known(jobs=_bad(owners)), LOOK))
    assert found.numbers.p_corrected <= LEVEL
    assert found.level == level
    assert found.why[0].endswith("but all but one in jobs of one user") == (level == "watch")


def test_a_run_of_another_user_proves_nothing_of_mine() -> None:
    """That his went on does not say that mine did, whatever he has written for its name."""
    gone = incident(_AT, "n000", excluded=("n000",))
    jobs = [job(gone, end="handed_on", owner="a"), job(job="2", nodes=("n001",), at=_AT, end="completed", owner="b")]
    assert _n000(standings(Known(jobs=jobs), LOOK)).jobs.went_on_without == 0


def test_what_is_over_says_so() -> None:
    """A driver that was updated is no ground to drain."""
    records = [record(_AT, "fatal", "driver_mismatch", text="x"), record(_AT + 60, hook="health")]
    found = _n000(standings(Known(jobs=(), records=records), LOOK))
    assert (found.level, found.why) == ("watch", ("driver_mismatch: x; found well since",))


def test_forged_jobs_count_in_nothing() -> None:
    """Neither their incidents nor their node time."""
    report = nodes_report(SiteHistory(jobs=tuple(_bad("abcdef", trusted=False))), (), LOOK, redacted)
    assert (report.nodes, report.untrusted, report.jobs) == ((), 6, 0)


def test_a_node_whose_time_is_not_known_is_not_tested() -> None:
    """A count without its exposure is no rate: it would be infinite."""
    idle = [replace(each, use=job(held_h=0, hours=13 * 24).use) for each in _bad("abc")]
    found = standings(Known(jobs=idle), LOOK)
    assert _n000(found).level == "ok"
    assert not _n000(found).numbers.is_tested


def test_one_incident_is_none_however_little_the_node_worked() -> None:
    """Nor is one failure that Slurm alone has seen."""
    brief = job(incident(_AT, "n000"), nodes=("n000",), at=_AT - 60, hours=0.02, job="brief", run="brief")
    unseen = [UnseenFailure(at=_AT, job=JobId("1"), state="NODE_FAIL", failed=(NodeName("n009"),))]
    found = standings(Known(jobs=[brief, job(nodes=_FLEET[1:], hours=300)], unseen=unseen), LOOK)
    assert _n000(found).numbers.p_of_all < LEVEL
    assert {each.level for each in found} == {"ok"}


def test_runs_that_went_on_without_the_node() -> None:
    """Those that it interrupted, that left it out, and that came to their end; in whichever job."""
    jobs = []
    for at, (left, end) in enumerate([(True, "completed"), (True, "failed"), (False, "completed")]):
        gone = incident(_AT, "n000", excluded=("n000",) if left else ())
        jobs.append(job(gone, run=f"r{at}", job=f"{at}", end="handed_on"))
        jobs.append(job(run=f"r{at}", job=f"{at}b", nodes=("n001",), at=_AT, end=end))
    assert _n000(standings(Known(jobs=jobs), LOOK)).jobs.went_on_without == 1


def test_the_timeline_tells_what_was_not_counted_again() -> None:
    """And of hooks only what they found."""
    jobs = [job(incident(_AT, "n000"), incident(_AT + 60, "n000", number=2))]
    records = [record(_AT + 30), record(_AT + 90, "watch", "oom_kill")]
    moments = _n000(standings(Known(jobs=jobs, records=records), LOOK)).timeline
    assert [(moment.kind, moment.is_counted) for moment in moments] == [
        ("incident", True),
        ("incident", False),
        ("hook", True),
    ]


def test_what_may_be_chance_is_watched() -> None:
    """Significant alone, and not among 64; a little less is nothing."""
    found = _n000(standings(Known(jobs=[*_bad("abc"), *_elsewhere(20)]), LOOK))
    assert found.numbers.p < LEVEL / 5
    assert found.level == "watch"
    assert found.why[0].endswith("corrected for 64 looks: may be chance")
    assert _n000(standings(Known(jobs=[*_bad("ab"), *_elsewhere(20)]), LOOK)).level == "ok"


def _elsewhere(number: int) -> list[JobHistory]:
    """One incident on each of so many other nodes."""
    return [job(incident(_AT, node), nodes=_FLEET, job=node, run=node) for node in _FLEET[1 : number + 1]]


def test_failures_without_supervise_are_worth_a_look_and_no_more() -> None:
    """Their node time is not known, so they are not in the test."""
    unseen = [UnseenFailure(at=_AT, job=JobId(f"{n}"), state="NODE_FAIL", failed=(NodeName("n009"),)) for n in range(5)]
    found = standings(Known(jobs=[job(nodes=_FLEET)], unseen=unseen), LOOK)
    assert (found[0].node, found[0].level, found[0].unseen) == ("n009", "watch", 5)
    assert found[0].numbers.incidents == 0


def test_a_fatal_finding_needs_no_statistics() -> None:
    """And stands before all that is only counted."""
    known = Known(jobs=_bad("abc"), records=[record(_AT, "fatal", "remap_failure", node="n040")])
    assert [(each.node, each.level) for each in standings(known, LOOK)[:2]] == [
        ("n040", "suspect"),
        ("n000", "suspect"),
    ]


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_what_is_known_makes_no_difference(random: Random) -> None:
    """Of jobs, records and failures."""
    jobs = Dice(nodes=16, per_1000_node_h=10, worse={"n003": 20.0}).throw(dice(7))
    records = [
        record(_AT + at, "suspect" if at % 2 else "ok", "remap_pending", node=f"n00{at % 9}") for at in range(20)
    ]
    expected = standings(Known(jobs=jobs, records=records), LOOK)
    random.shuffle(jobs)
    random.shuffle(records)
    assert standings(Known(jobs=jobs, records=[*records, records[0]]), LOOK) == expected


def test_among_equal_nodes_one_is_named_in_at_most_a_twentieth_of_fleets() -> None:
    """Where each node is tested alone, an innocent one is named in most of them: the correction is needed."""
    random, wrong, alone = dice(20261201), 0, 0
    fleets = 200
    for size in (16, 20, 64, 256):
        for _ in range(fleets // 4):
            fleet = Dice(nodes=size, users=50, per_1000_node_h=400.0 / size)
            found = standings(Known(jobs=fleet.throw(random)), LOOK)
            wrong += any(each.level == "suspect" for each in found)
            alone += any(each.numbers.p <= LEVEL for each in found)
    assert wrong <= fleets * LEVEL
    assert alone > fleets / 2


@pytest.mark.parametrize("size", [16, 64, 256])
def test_a_node_that_is_twenty_times_worse_is_found(size: int) -> None:
    """With what such a fleet sees in two weeks; and nobody else is named with it."""
    random, found, others = dice(size), 0, 0
    for _ in range(20):
        fleet = Dice(nodes=size, users=20, worse={"n005": 20.0}, per_1000_node_h=3.0)
        suspects = [each.node for each in standings(Known(jobs=fleet.throw(random)), LOOK) if each.level == "suspect"]
        found += "n005" in suspects
        others += len(set(suspects) - {"n005"})
    assert found >= 18
    assert others <= 1


def test_p_of_equal_nodes_is_nearly_uniform() -> None:
    """Never smaller than it should be; larger only since counts are whole numbers, and one user's are capped."""
    random = dice(5)
    values: list[float] = []
    for _ in range(40):
        jobs = Dice(nodes=32, users=120, per_1000_node_h=20.0).throw(random)
        values += [each.p for each in numbers_of(exposure(jobs, LOOK), blame(jobs, LOOK)).values()]
    shares = {level: sum(p <= level for p in values) / len(values) for level in (0.01, 0.05, 0.1, 0.25, 0.5, 0.75)}
    assert all(share <= level + 0.02 for level, share in shares.items()), shares
    assert shares[0.5] >= 0.35, shares
    assert shares[0.05] >= 0.02, shares
