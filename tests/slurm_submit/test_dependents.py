"""Who waits for a job's end, and what they must wait for once another job goes on."""

import pytest

from supervisor.errors import PayloadRefused
from supervisor.model.ids import JobId
from supervisor.slurm.dependents import Own, dependents, moved, parse_waiting

_QUEUE = """\
2|1000|afterok:17(unfulfilled)|wrap
3|1000|afternotok:17(unfulfilled)|wrap
7|1000|singleton(unfulfilled)|base
8|1000|afterok:17(unfulfilled)?afternotok:17(unfulfilled)|a|b
9|1000|after:17+5(unfulfilled),afterok:17(unfulfilled)|wrap
10|1000|aftercorr:17(unfulfilled)|wrap
10|1000|aftercorr:17(unfulfilled)|wrap
11|1000|after:17+5(unfulfilled)|wrap
12|1000|afterok:170(unfulfilled)|wrap
13|1001|afterany:17(unfulfilled)|bobs
14|1001|singleton(unfulfilled)|base
15|1000|afterok:5(failed),afterany:17(unfulfilled)|wrap
16|1000|(null)|wrap
18|1000|afterany:17(unfulfilled)|base
19|1000|afterok:5(unfulfilled)?singleton(unfulfilled)|base
"""
_OWN = Own(job_id=JobId("17"), raw_job_id=JobId("17"), uid=1000, name="base")
_TASK = Own(job_id=JobId("11_1"), raw_job_id=JobId("13"), uid=1000, name="wrap")


def test_all_that_wait_for_the_end_are_found() -> None:
    """Not those that wait for its begin, for others, in vain, or are jobs of the same run; an array counts once."""
    found = dependents(parse_waiting(_QUEUE), _OWN, run={JobId("18")})
    assert found.movable == {
        "2": "afterok:17",
        "3": "afternotok:17",
        "7": "singleton",
        "8": "afterok:17?afternotok:17",
        "9": "after:17+5,afterok:17",
        "10": "aftercorr:17",
    }
    assert found.others == ("13 (another user's)", "19")


@pytest.mark.parametrize(
    ("dependency", "wanted"),
    [
        ("afterok:17", "afterok:20"),
        ("afternotok:17,afterok:5", "afternotok:20,afterok:5"),
        ("afterany:17:5", "afterany:20:5"),
        ("aftercorr:17", "aftercorr:20"),
        ("afterok:17?afternotok:17", "afterok:20?afternotok:20"),
        ("after:17+5,afterok:17", "after:17+5,afterok:20"),
        ("singleton", "singleton,afterany:20"),
        ("singleton,afterany:17", "singleton,afterany:20"),
        ("afterok:170", "afterok:170"),
    ],
)
def test_they_wait_for_the_successors_end(dependency: str, wanted: str) -> None:
    """Whatever end they wait for, it is the run's: each kind moves, the begin does not."""
    assert moved(dependency, JobId("17"), JobId("20")) == wanted


@pytest.mark.parametrize("waits_for", ["aftercorr:11_*", "afterok:11", "afterok:11_1", "afterany:13"])
def test_nobody_who_waits_for_an_array_can_be_moved(waits_for: str) -> None:
    """A successor stands for one task alone."""
    found = dependents(parse_waiting(f"20|1000|{waits_for}(unfulfilled)|x\n"), _TASK)
    assert (found.movable, found.others) == ({}, ("20",))


def test_who_waits_for_another_task_does_not_count() -> None:
    """11_2 goes its own way."""
    found = dependents(parse_waiting("20|1000|afterok:11_2(unfulfilled)|x\n"), _TASK)
    assert not found.movable
    assert not found.others


def test_a_queue_that_cannot_be_read_is_not_empty() -> None:
    """Unknown stays unknown."""
    with pytest.raises(PayloadRefused):
        parse_waiting("slurm_load_jobs error\n")
