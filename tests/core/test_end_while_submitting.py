"""The end of a job while a successor is being submitted, and what must not be taken for a cause of one."""

import msgspec
import pytest

from supervisor.core.events import RankFailed, Requeued, SlurmReported, Stalled, Submitted
from supervisor.core.instructions import AskSlurm, CancelJob, LaunchAttempt, Requeue, Submit
from supervisor.core.state import Stage
from supervisor.model.facts import JobFacts
from supervisor.model.ids import AttemptNo, JobId
from supervisor.settings import Settings
from tests.core.facts import node, unreachable, whole
from tests.core.harness import World

_CANCELLED = JobFacts(job_id=JobId("17"), state="COMPLETING")
_LIMIT = msgspec.structs.replace(_CANCELLED, reason="TimeLimit")


def _running(facts: JobFacts | None) -> World:
    world = World(settings=Settings(checkpoint="/ck"), choice=whole(10)).start().progress(25)
    world.slurm, world.choice = facts, whole(20)
    return world


def _submitting(facts: JobFacts) -> World:
    """A node is dead, another job is ordered, and its answer does not come; this is what Slurm says of the job."""
    world = World().start().progress(5).kill(node(3))
    world.silent_hands = {Submit}
    world.settle()
    assert world.state.stage is Stage.SUBMITTING
    world.slurm, world.silent_hands = facts, set()
    return world


@pytest.mark.parametrize("is_answered", [True, False])
def test_the_supervisor_after_a_cancel_submits_nothing(is_answered: bool) -> None:  # noqa: FBT001  # a case
    """The one before was killed while sbatch was under way: its job is looked for, never made after the cancel."""
    world = _submitting(_CANCELLED)
    world.silent_hands = {Submit} if is_answered else {Submit, AskSlurm}
    world.term().settle()
    world.silent_hands = set()
    world.restart().run(20)
    assert [order.only_look for order in world.given(Submit)] == [False, True]
    assert world.state.submitted is None
    assert world.finish is not None
    assert not world.finish.handed_over


def test_the_job_that_an_unheard_order_made_before_a_cancel_is_cancelled() -> None:
    """It was made, the supervisor was killed, and the next one finds it."""
    world = _submitting(_CANCELLED)
    world.unheard = JobId("21")
    world.silent_hands = {Submit}
    world.term().settle()
    world.silent_hands = set()
    world.restart().settle()
    assert world.given(CancelJob) == [CancelJob(job_id=JobId("21"))]


def test_the_supervisor_after_a_dead_nodes_end_submits_again() -> None:
    """The job ends for the node that the successor was ordered for: nothing speaks against it."""
    world = _submitting(JobFacts(job_id=JobId("17"), state="NODE_FAIL", requeue=False))
    world.silent_hands = {Submit}
    world.term().settle()
    world.silent_hands = set()
    world.restart().settle()
    assert [order.only_look for order in world.given(Submit)] == [False, False]
    assert world.finish is not None
    assert world.finish.handed_over


@pytest.mark.parametrize(
    "facts", [_LIMIT, JobFacts(job_id=JobId("17"), state="NODE_FAIL", requeue=False)], ids=["limit", "dead node"]
)
def test_a_submission_refused_before_the_cause_is_known_is_no_last_word(facts: JobFacts) -> None:
    """The signal came in the midst of it; only then is it known that the run goes on."""
    world = _running(JobFacts(job_id=JobId("17"), state="RUNNING"))
    world.verdict = unreachable(node(1))
    world.silent_hands = {Submit}
    world.exit(1).settle()
    assert world.state.stage is Stage.SUBMITTING
    world.silent_hands = {AskSlurm}
    world.term().send(Submitted(at=world.at, outcome="refused", text="ended by a signal"))
    world.run(2)
    assert len(world.given(Submit)) == 1, "not before the cause is known"
    world.silent_hands = set()
    world.send(SlurmReported(at=world.at, job=facts))
    world.run(2)
    assert world.state.submitted is not None
    assert world.finish is not None
    assert world.finish.handed_over


def test_where_nobody_knows_of_a_successor_it_is_looked_for_after_a_cancel() -> None:
    """An sbatch that was not heard may have made a job: it would run on though the run was cancelled."""
    world = _submitting(_CANCELLED)
    world.unheard = JobId("21")
    world.term().send(Submitted(at=world.at, outcome="unknown", text="no answer"))
    world.run(5)
    assert world.given(CancelJob) == [CancelJob(job_id=JobId("21"))]


def test_a_cancel_after_a_limit_that_was_raised_is_no_time_limit() -> None:
    """`scontrol update TimeLimit=` while the job runs: what was asked at its beginning does not hold any more."""
    world = _running(None)
    began, limit = world.state.started_at, world.state.walltime_at
    assert limit is not None
    world.at = limit + 500
    raised = msgspec.structs.replace(_CANCELLED, start_time=began, time_limit_s=2 * (limit - began))
    world.slurm = raised
    world.term().settle()
    assert not world.given(Submit)
    assert world.state.term is not None
    assert world.state.term.cause == "user_cancel"


@pytest.mark.parametrize("state", ["STOPPED", "SIGNALING"])
def test_a_stopped_job_is_not_being_ended(state: str) -> None:
    """`scancel -s STOP` shows in the job's state; a crash beside it is a crash."""
    world = _running(JobFacts(job_id=JobId("17"), state=state)).exit(1).settle()
    assert len(world.launches) == 2


def test_a_cancel_that_comes_before_our_requeue_is_a_cancel() -> None:
    """The hands have not given the order any more: the signal was a person's."""
    world = _submitting(JobFacts(job_id=JobId("17"), state="RUNNING"))
    world.silent_hands = {Requeue, AskSlurm}
    world.send(Submitted(at=world.at, outcome="refused", text="no"))
    world.settle()
    assert world.state.stage is Stage.REQUEUEING
    world.term().send(Requeued(at=world.at, ok=False, text="the job is being ended"))
    world.send(SlurmReported(at=world.at, job=_CANCELLED))
    world.settle()
    assert world.state.term is not None
    assert world.state.term.cause == "user_cancel"
    assert world.finish is not None
    assert not world.finish.handed_over


def _in_grace(*, is_known: bool = True) -> World:
    """Another job takes the nodes in a minute; a rank has died of the warning, the script and the others save."""
    world = World(settings=Settings(checkpoint="/ck"), preempt_mode="CANCEL", choice=whole(10)).start().progress(25)
    grace = JobFacts(job_id=JobId("17"), state="RUNNING", preempt_time=world.at, end_time=world.at + 60)
    world.slurm, world.choice = grace if is_known else _preempted(world), whole(20)
    attempt = AttemptNo(world.live)
    world.send(RankFailed(at=world.at, attempt=attempt, code=143))
    world.send(Stalled(at=world.at, attempt=attempt, silent_s=5.0))
    world.settle()
    assert world.state.stage is Stage.ENDING
    assert world.state.submitted is not None
    return world


def _preempted(world: World) -> JobFacts:
    return JobFacts(job_id=JobId("17"), state="COMPLETING", preempt_time=world.at)


def test_a_cancel_within_the_grace_of_a_preemption_takes_the_successor_along() -> None:
    """Slurm would have ended the job later: this was a person, who does not want the run any more."""
    world = _in_grace()
    world.slurm = _preempted(world)
    world.run(10).term().settle()
    assert world.given(CancelJob) == [CancelJob(job_id=JobId("19"))]
    world.exit(None, signal=15).settle()
    assert world.finish is not None
    assert not world.finish.handed_over


@pytest.mark.parametrize(("after", "whole_step"), [(59.5, True), (10.0, False)])
def test_the_end_of_the_grace_and_a_signal_to_the_script_leave_the_successor(after: float, *, whole_step: bool) -> None:
    """Slurm ends the job when it had said it would."""
    world = _in_grace()
    world.at += after
    world.slurm = _preempted(world)
    world.term(whole=whole_step).run(5)
    assert not world.given(CancelJob)
    world.exit(None, signal=15).settle()
    assert world.finish is not None
    assert world.finish.handed_over


def test_without_a_word_of_the_graces_length_the_preemption_counts() -> None:
    """The job was ended before Slurm was asked: nobody knows whether too early."""
    world = _in_grace(is_known=False).run(5)
    world.term().settle()
    assert not world.given(CancelJob)


def test_a_script_that_was_only_ordered_is_not_waited_for() -> None:
    """The order was lost with the supervisor that gave it, and then the answer of sbatch does not come either."""
    world = World(settings=Settings(checkpoint="/ck"), preempt_mode="CANCEL", silent_hands={LaunchAttempt, Submit})
    world.begin().settle()
    assert world.state.stage is Stage.LAUNCHING
    world.slurm = _preempted(world)
    world.term().settle().restart().run(200)
    assert world.finish is not None
