"""A cancel that comes when the run has been handed over already."""

import msgspec
import pytest

from supervisor.core.events import SignalReceived
from supervisor.core.instructions import AskSlurm, CancelJob, Finish, Submit
from supervisor.core.state import Stage
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId
from tests.core.facts import node
from tests.core.harness import World

_RUNNING = JobFacts(job_id=JobId("17"), state="RUNNING")
_CANCELLED = msgspec.structs.replace(_RUNNING, state="COMPLETING")
_TAKEN_BACK = [CancelJob(job_id=JobId("19"))]


def _handed_over() -> World:
    """Node 3 is dead, job 19 is to go on with the run, and this job is about to end."""
    world = World().start().progress(5).kill(node(3)).settle()
    assert (world.state.stage, world.state.submitted) == (Stage.FINISHED, "19")
    return world


def test_a_cancel_after_the_hand_over_takes_the_successor_back() -> None:
    """Nothing restarted, nothing left: scancel of the old job means the run."""
    world = _handed_over()
    world.slurm = _CANCELLED
    world.term().settle()
    assert world.given(CancelJob) == _TAKEN_BACK
    last = world.given(Finish)[-1]
    assert (last.handed_over, last.reason) == (False, "the job was cancelled")
    assert world.records[-1].is_closed
    assert world.records[-1].action == "stop"
    assert world.state.submitted is None


def test_the_end_waits_for_slurms_word() -> None:
    """The order to end is given again, after the successor was cancelled: only then may the keeper leave."""
    world = _handed_over()
    world.slurm = _CANCELLED
    world.term()
    assert isinstance(world.done[-1], AskSlurm)
    world.settle()
    orders = [type(order) for order in world.done if isinstance(order, (AskSlurm, CancelJob, Finish))]
    assert orders[-4:] == [Finish, AskSlurm, CancelJob, Finish]


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": "TimeLimit"},
        {"preempt_time": 1.0},
        {"state": "NODE_FAIL"},
        {"state": "PENDING"},
        {"state": "RUNNING"},
    ],
    ids=["time limit", "preemption", "node failure", "requeued", "to the script alone"],
)
def test_another_end_leaves_the_successor_alone(changes: dict[str, object]) -> None:
    """Only a person's cancel of the job ends the run."""
    world = _handed_over()
    world.slurm = msgspec.structs.replace(_CANCELLED, **changes)
    world.term(whole=False).settle()
    assert not world.given(CancelJob)
    assert world.given(Finish)[-1] == world.finish
    assert world.finish is not None
    assert world.finish.handed_over
    assert "scancel 19 ends it" in world.said


def test_slurm_ends_the_job_because_of_the_dead_node() -> None:
    """22.05 shows no difference between that and a cancel but the node, which it marks DOWN in the same moment."""
    world = _handed_over()
    world.slurm, world.down = _CANCELLED, {node(3)}
    world.term().settle()
    assert not world.given(CancelJob)


def test_a_silent_slurm_does_not_hold_the_end() -> None:
    """Without an answer the successor stays, and the user reads how to end it."""
    world = _handed_over()
    world.silent_hands = {AskSlurm}
    world.term().run(10)
    assert not world.given(CancelJob)
    assert len(world.given(Finish)) == 2
    assert "Slurm does not say why" in world.said


def test_only_the_first_sigterm_asks() -> None:
    """The keeper and the supervisor both report it."""
    world = _handed_over()
    asked = len(world.given(AskSlurm))
    world.slurm = _CANCELLED
    world.term().term().settle().term().settle()
    assert len(world.given(AskSlurm)) == asked + 1
    assert world.given(CancelJob) == _TAKEN_BACK


def test_a_supervisor_that_is_killed_meanwhile_asks_again() -> None:
    """The question is in the log, its answer is not."""
    world = _handed_over()
    world.slurm = _CANCELLED
    world.term().restart().settle()
    assert world.given(CancelJob) == _TAKEN_BACK
    assert not world.given(Finish)[-1].handed_over


def test_a_supervisor_that_was_dead_hears_of_the_cancel_from_the_keeper() -> None:
    """The signal came between two supervisors: the keeper's first words name it."""
    world = _handed_over()
    world.slurm = _CANCELLED
    world.restart()
    world.send(world.keeper_report(signals=(15,)))
    world.settle()
    assert world.given(CancelJob) == _TAKEN_BACK


def test_a_job_that_has_simply_ended_asks_nothing() -> None:
    """No successor, nothing to take back; other signals mean nothing either."""
    world = World().start().exit(0).settle()
    world.slurm = _CANCELLED
    world.term().settle()
    other = _handed_over()
    asked = len(other.given(AskSlurm))
    other.send(SignalReceived(at=other.at, number=10, whole_step=True))
    assert (len(world.given(AskSlurm)), len(world.given(Submit))) == (0, 0)
    assert len(other.given(AskSlurm)) == asked
