"""A job that waits in the queue for this one to fail: it goes on with the run, or nobody ever sees it begin."""

import pytest

from supervisor.core.events import Submitted
from supervisor.core.instructions import CancelJob, Finish, Submit, TellStandby
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId
from supervisor.model.verdict import Retry
from supervisor.settings import Settings
from tests.core.facts import crash, node, unreachable, whole
from tests.core.harness import World

_STANDBY = JobId("99")
_GONE = CancelJob(job_id=_STANDBY)
_CK = Settings(checkpoint="/ck")


def _running(settings: Settings = _CK, **world: object) -> World:
    made = World(settings=settings, choice=whole(10), standby=_STANDBY, **world)  # type: ignore[arg-type]  # its fields
    made.start().progress(25)
    return made


def _bad_node(world: World) -> World:
    world.verdict = unreachable(node(2))
    return world.exit(1).settle()


def test_it_goes_on_where_another_job_is_needed() -> None:
    """It was told where not to begin, and begins by itself as soon as this job has ended with 1."""
    world = _bad_node(_running())
    assert world.given(TellStandby) == [TellStandby(job_id=_STANDBY, exclude=(node(2),))]
    assert [order.standby for order in world.given(Submit)] == [_STANDBY]
    assert world.finish is not None
    assert (world.finish.handed_over, world.finish.code) == (True, 1)
    assert "job 99 goes on with the run" in world.said
    assert _GONE not in world.done


@pytest.mark.parametrize("code", [0, 1])
def test_where_the_run_ends_it_is_taken_away_first(code: int) -> None:
    """Slurm would start it after a failure that is final."""
    world = _running()
    world.verdict = crash(retry=Retry.NO)
    world.exit(code, ranks_fail=False).settle()
    assert world.finish is not None
    assert not world.finish.handed_over
    assert world.done.index(_GONE) < world.done.index(world.given(Finish)[0])


def test_a_cancel_takes_it_away_at_once() -> None:
    """The script may need longer to end than Slurm lets it, and then nobody is left to do it."""
    world = _running()
    world.slurm = JobFacts(job_id=JobId("17"), state="COMPLETING")
    world.term().settle()
    assert _GONE in world.done
    assert world.finish is None


def test_it_does_not_begin_on_a_node_that_was_found_bad_meanwhile() -> None:
    """Though nothing was interrupted: all of ours may die before anything else is told."""
    world = _running(spares=1)
    world.order("exclude", nodes=(node(3),))
    assert world.given(TellStandby) == [TellStandby(job_id=_STANDBY, exclude=(node(3),))]


def test_where_slurm_starts_this_job_again_it_goes_on_waiting() -> None:
    """It waits for that one to fail, which has not ended."""
    world = _bad_node(_running(is_waited_for=True))
    assert world.records[0].action == "requeue"
    assert _GONE not in world.done


def test_where_another_successor_was_made_it_is_not_needed() -> None:
    """It could not be used: a person had cancelled it, or it was held."""
    world = _running()
    world.silent_hands = {Submit}
    _bad_node(world)
    world.silent_hands = set()
    world.send(Submitted(at=world.at, outcome="accepted", job_id=JobId("120")))
    assert _GONE in world.done


@pytest.mark.parametrize("requeue", [True, False])
def test_a_dead_node_lets_it_begin_unless_slurm_starts_the_job_again(*, requeue: bool) -> None:
    """Nothing is submitted for a node that ends the job; this one was there before."""
    world = _running()
    world.slurm = JobFacts(job_id=JobId("17"), state="NODE_FAIL", requeue=requeue)
    world.term().settle()
    world.exit(None, signal=15, ranks_fail=False).settle()
    assert bool(world.given(Submit)) is not requeue
    assert (_GONE in world.done) is requeue


def test_at_a_time_limit_without_progress_it_is_taken_away() -> None:
    """Another job would get no further."""
    world = World(settings=_CK, choice=whole(10), standby=_STANDBY).start()
    world.slurm = JobFacts(job_id=JobId("17"), state="COMPLETING", reason="TimeLimit")
    world.term().settle().exit(None, signal=15).settle()
    assert not world.given(Submit)
    assert _GONE in world.done
