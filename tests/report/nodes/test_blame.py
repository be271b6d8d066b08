"""Which incidents speak against which node."""

from dataclasses import replace

import msgspec
import pytest

from supervisor.model.ids import NodeName
from supervisor.model.site import SiteGpu
from supervisor.model.verdict import Class
from supervisor.report.nodes.blame import Signs, blame
from supervisor.report.nodes.model import Look
from tests.report.nodes.fleets import DAY_S, HOUR_S, LOOK, SINCE, UNTIL, incident, job

_AT = SINCE + 2 * DAY_S


@pytest.mark.parametrize(
    ("cls", "counts"),
    [("hardware", 1), ("network", 1), ("unknown", 1), ("software", 0), ("data", 0), ("planned", 0)],
)
def test_what_a_machine_can_be_to_blame_for(cls: str, counts: int) -> None:
    """Faults of program and data never speak against a node, even where one is named."""
    assert len(blame([job(incident(_AT, "n000", cls=Class(cls)))], LOOK)) == counts


def test_a_node_is_named_by_itself_its_gpu_or_its_leaving() -> None:
    """Once, whichever way."""
    gpu = SiteGpu(node=NodeName("n000"), gpu=3, uuid="GPU-1")
    found = blame([job(incident(_AT, "n000", gpus=(gpu,), excluded=("n000",)))], LOOK)
    assert found["n000"].all[0].gpus == ("GPU 3 (GPU-1)",)
    assert len(found["n000"].all) == 1


def test_who_blames_many_blames_none() -> None:
    """A switch or a rack: nothing is told of one node."""
    nodes = ("n000", "n001", "n002")
    assert blame([job(incident(_AT, *nodes), nodes=nodes)], LOOK) == {}
    assert set(blame([job(incident(_AT, *nodes[:2]), nodes=nodes)], LOOK)) == {"n000", "n001"}


def test_a_job_speaks_of_its_own_nodes_alone() -> None:
    """Else a user could write against any node of the cluster."""
    assert blame([job(incident(_AT, "n077"))], LOOK) == {}


def test_incidents_of_one_run_within_an_hour_count_once() -> None:
    """But those of an hour later, or of the next job on the node, are signs of their own."""
    close = [incident(_AT + minutes * 60, "n000", number=minutes + 1) for minutes in (0, 20, 40, 59)]
    later = incident(_AT + HOUR_S, "n000", number=100)
    other = job(incident(_AT + HOUR_S + 120, "n000", run="r2"), run="r2", job="2", at=_AT + HOUR_S + 60)
    found = blame([job(*close, later), other], LOOK)["n000"]
    assert (len(found.all), len(found.counted)) == (6, 3)


def test_jobs_that_shared_a_node_are_hit_once() -> None:
    """One reboot ends all of them, and is no four signs."""
    jobs = [job(incident(_AT + at, "n000", run=f"r{at}"), run=f"r{at}", owner=f"u{at}") for at in range(4)]
    assert len(blame(jobs, LOOK)["n000"].counted) == 1


def test_what_is_old_or_before_the_repair_is_void() -> None:
    """And what a wrong clock dates into the future."""
    jobs = [job(incident(at, "n000")) for at in (SINCE - 1, UNTIL)]
    assert blame(jobs, LOOK) == {}
    mended = Look(since=SINCE, until=UNTIL, returned={"n000": _AT + 1})
    assert blame([job(incident(_AT, "n000", "n001"))], mended).keys() == {"n001"}


def test_a_run_is_its_users_and_its_clusters_alone() -> None:
    """Who writes the run of another does not make two signs one: else a liar could hide what hit his node."""
    mine, his = incident(_AT, "n000"), incident(_AT + 60, "n000")
    later = _AT + 30
    two = [job(mine, owner="a"), job(his, owner="b", at=later, job="2")]
    assert len(blame(two, LOOK)["n000"].counted) == 2
    same = [job(mine, owner="a"), job(his, owner="a", at=later, job="2")]
    assert len(blame(same, LOOK)["n000"].counted) == 1
    elsewhere = [job(mine), replace(same[1], owner="u1", job=msgspec.structs.replace(same[1].job, cluster="c2"))]
    assert len(blame(elsewhere, LOOK)["n000"].counted) == 2


@pytest.mark.parametrize(
    ("owners", "number"),
    [("a", 0), ("aaaa", 0), ("ab", 2), ("aaaab", 2), ("aabb", 4), ("????", 0), ("aa?", 0), ("aabb??", 4)],
)
def test_one_user_counts_no_more_than_all_others(owners: str, number: int) -> None:
    """Alone he proves nothing, however often; and whose user nobody knows (`?`) may be his."""
    jobs = [
        job(incident(_AT + at * 2 * HOUR_S, "n000", run=f"r{at}"), run=f"r{at}", owner=who.replace("?", ""))
        for at, who in enumerate(owners)
    ]
    assert blame(jobs, LOOK)["n000"].number == number
    assert Signs().number == 0
