"""From one way to go on to the next: another job, this very job again, another one all the same, none."""

import pytest

from supervisor.core.events import Submitted
from supervisor.core.instructions import Requeue, Submit
from supervisor.core.state import Stage
from supervisor.model.ids import JobId
from supervisor.settings import Settings
from tests.core.facts import node, unreachable
from tests.core.harness import World


def _lost(world: World) -> World:
    """A living node is to blame, and there is no spare: this job cannot go on."""
    world.verdict = unreachable(node(2))
    world.start()
    world.exit(1)
    return world.settle()


def test_a_job_that_nobody_waits_for_is_submitted_again() -> None:
    """Seconds, and a new id."""
    world = _lost(World())
    assert world.given(Submit) == [Submit(exclude=(node(2),))]
    assert not world.given(Requeue)


@pytest.mark.parametrize(
    "world", [World(job_id=JobId("17_3")), World(is_waited_for=True)], ids=["task of an array", "sbatch --wait"]
)
def test_a_job_whose_id_counts_is_started_again_by_slurm(world: World) -> None:
    """The same id, at the price of two minutes."""
    _lost(world)
    assert world.given(Requeue) == [Requeue(exclude=(node(2),))]
    assert not world.given(Submit)
    assert world.finish is not None
    assert (world.finish.handed_over, world.records[0].action) == (True, "requeue")
    assert "asking Slurm to start this job again without node002" in world.records[0].action_text


def test_a_task_on_a_dead_node_is_submitted() -> None:
    """Slurm would start it again only once it has noticed that the node died. Out of the job it is no obstacle."""
    world = World(job_id=JobId("17_3"), shrink_ok=False).start()
    world.kill(node(2)).run(5)
    assert world.given(Submit)
    assert not world.given(Requeue)


def test_where_somebody_waits_who_cannot_be_moved_slurm_starts_the_job_again() -> None:
    """Nothing was sent, and so nothing has refused."""
    world = _lost(World(sbatch=["holds"]))
    assert len(world.given(Submit)) == 1
    assert world.given(Requeue) == [Requeue(exclude=(node(2),))]
    assert "job 40 waits for this very job; asking Slurm to start this job again" in world.said


def test_where_slurm_refuses_that_another_job_goes_on_whoever_waits() -> None:
    """The run counts more than who waits for it; with the exclusions, since nothing speaks against them."""
    world = _lost(World(sbatch=["holds"], requeue_ok=False))
    assert world.given(Submit)[-1] == Submit(exclude=(node(2),), whoever_waits=True)
    assert world.finish is not None
    assert world.finish.handed_over


def test_the_ladder_of_a_job_whose_id_counts_ends_too() -> None:
    """Requeue, another job without the bad nodes, another one with them, stop."""
    world = _lost(World(is_waited_for=True, requeue_ok=False, sbatch=["refused", "refused"]))
    assert [(order.exclude, order.whoever_waits) for order in world.given(Submit)] == [((node(2),), True), ((), True)]
    assert len(world.given(Requeue)) == 1
    assert world.state.stage is Stage.FINISHED
    assert "no other job can be had" in world.said


def test_who_waits_is_said_with_the_successor() -> None:
    """In the one line that tells of it."""
    world = World(settings=Settings(), silent_hands={Submit})
    _lost(world)
    world.send(Submitted(at=world.at, outcome="accepted", job_id=JobId("18"), moved=(JobId("40"),), left=("41",)))
    words = "job 18 goes on with the run, without node002; job 40 waits for it now; job 41 waits for job 17"
    assert words in world.said
