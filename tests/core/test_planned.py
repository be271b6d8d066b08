"""The first SIGTERM, and what may follow from it."""

import msgspec
import pytest

from supervisor.core.events import AttemptStarted, LineSeen, Submitted
from supervisor.core.instructions import (
    AskSlurm,
    CancelJob,
    ChooseCheckpoint,
    Finish,
    LaunchAttempt,
    StopAttempt,
    Submit,
)
from supervisor.core.state import Stage
from supervisor.model.facts import JobFacts
from supervisor.model.ids import AttemptNo, JobId
from supervisor.model.verdict import Class
from supervisor.settings import Settings
from tests.core.facts import NONE_YET, node, whole
from tests.core.harness import World

_CK = Settings(checkpoint="/ck")
_CANCELLED = JobFacts(job_id=JobId("17"), state="COMPLETING")
_LIMIT = msgspec.structs.replace(_CANCELLED, reason="TimeLimit")
_PREEMPTED = msgspec.structs.replace(_CANCELLED, preempt_time=1.0)


def _running(facts: JobFacts | None, settings: Settings = _CK) -> World:
    world = World(settings=settings, choice=whole(10)).start().progress(25)
    world.slurm, world.choice = facts, whole(20)
    return world


def test_a_cancelled_run_ends_with_the_scripts_own_status() -> None:
    """scancel: Slurm is asked once, the script has its time, nothing is started or submitted."""
    world = _running(_CANCELLED).term().run(3)
    assert world.state.stage is Stage.ENDING
    world.exit(None, signal=15)
    assert world.finish is not None
    assert (world.finish.signal, world.finish.handed_over) == (15, False)
    assert len(world.given(AskSlurm)) == 1
    assert not world.given(Submit)
    assert (world.records[0].verdict.cls, world.records[0].verdict.cause) == (Class.PLANNED, "user_cancel")
    assert world.state.behind.planned == 1


def test_a_second_sigterm_means_nothing_new() -> None:
    """Only the first one counts."""
    world = _running(_CANCELLED).term().settle().term().settle()
    assert world.said.count("SIGTERM") == 1
    assert len(world.given(AskSlurm)) == 1


def test_the_time_limit_leads_to_a_successor() -> None:
    """TimeLimit, a checkpoint newer than the job's own start: the run goes on in another job after this one."""
    world = _running(_LIMIT).term().settle()
    assert world.given(Submit) == [Submit(exclude=(), after_this_job=True, whoever_waits=True)]
    world.exit(None, signal=15).settle()
    assert world.finish is not None
    assert world.finish.handed_over
    assert world.finish.code == 1
    assert world.records[0].verdict.cause == "walltime"
    assert world.state.behind.restarts == 0


@pytest.mark.parametrize(
    "world",
    [
        World(settings=_CK, choice=NONE_YET),
        World(settings=_CK, choice=whole(10)),
        World(settings=Settings()),
        World(settings=Settings(checkpoint="/ck", mode="observe"), choice=whole(10)),
    ],
    ids=["no checkpoint", "no newer one", "none configured", "observing"],
)
def test_a_time_limit_without_progress_ends_the_run(world: World) -> None:
    """A successor that would get no further is not submitted."""
    world.start()
    world.slurm = _LIMIT
    world.term().settle().exit(None, signal=15).settle()
    assert not world.given(Submit)
    assert world.finish is not None
    assert not world.finish.handed_over


def test_a_slow_store_does_not_cost_the_successor() -> None:
    """Slurm kills soon: without an answer of the checkpoint finder the steps seen are progress enough."""
    world = _running(_LIMIT)
    world.silent_hands = {ChooseCheckpoint}
    world.term().run(5)
    assert world.given(Submit)


def test_the_limits_own_time_is_a_positive_cause() -> None:
    """Slurm gives no answer, but the signal comes at the time limit."""
    world = _running(None)
    assert world.state.walltime_at is not None
    world.at = world.state.walltime_at
    world.term().settle()
    assert world.given(Submit)


def test_slurmstepds_line_is_a_positive_cause() -> None:
    """The job's own output says TIME LIMIT; what is said of a step does not count."""
    world = _running(None)
    text = "slurmstepd-n1: error: *** JOB 17 ON n1 CANCELLED AT 2026-11-30T03:48:37 DUE TO TIME LIMIT ***"
    world.send(LineSeen(at=world.at, attempt=AttemptNo(1), signature="slurm_time_limit", text=text))
    world.term().settle()
    assert world.given(Submit)
    other = _running(None)
    text = text.replace("JOB 17", "STEP 17.0")
    other.send(LineSeen(at=other.at, attempt=AttemptNo(1), signature="slurm_time_limit", text=text))
    other.term().settle()
    assert not other.given(Submit)


def test_no_answer_means_no_submission() -> None:
    """Without a positive cause nothing is submitted, and the honest answer is unknown."""
    world = _running(None).term().settle().exit(1).settle()
    assert not world.given(Submit)
    assert world.records[0].verdict.cls is Class.UNKNOWN
    assert world.finish is not None
    assert world.finish.code == 1


def test_a_hand_that_does_not_ask_slurm_does_not_hold_the_end() -> None:
    """The question has a deadline in the machine, too."""
    world = _running(_CANCELLED)
    world.silent_hands = {AskSlurm}
    world.term().exit(1).run(6)
    assert world.finish is not None


@pytest.mark.parametrize(
    ("mode", "requeue", "submits"),
    [
        ("REQUEUE", True, 0),
        ("GANG,REQUEUE", True, 0),
        ("REQUEUE", False, 1),
        ("CANCEL", True, 1),
        ("CANCEL", False, 1),
        ("", True, 0),
        ("", False, 1),
    ],
)
def test_a_preempted_job_is_submitted_only_if_slurm_does_not_requeue_it(mode: str, requeue: bool, submits: int) -> None:  # noqa: FBT001  # pytest passes by name
    """Never both: a requeued job and a successor would be twins. Where the mode is not known, Requeue=1 is believed."""
    world = World(settings=_CK, choice=whole(10), preempt_mode=mode).start().progress(25)
    world.slurm = msgspec.structs.replace(_PREEMPTED, requeue=requeue)
    world.term().settle()
    assert len(world.given(Submit)) == submits


def test_the_preempt_mode_survives_the_supervisor() -> None:
    """It was asked once, when the job began: the next supervisor decides by it, too."""
    world = World(settings=_CK, choice=whole(10), preempt_mode="CANCEL").start().progress(25)
    world.slurm = _PREEMPTED
    world.restart().term().settle()
    assert world.given(Submit)


def test_ranks_that_die_in_the_grace_of_a_preemption_are_not_started_again() -> None:
    """With a GraceTime only the ranks get SIGTERM at first, and the job is RUNNING still: its nodes are promised."""
    world = World(settings=_CK, choice=whole(10), preempt_mode="CANCEL").start().progress(25)
    world.slurm = JobFacts(job_id=JobId("17"), state="RUNNING", start_time=900.0, preempt_time=world.at)
    world.exit(143).settle()
    assert len(world.launches) == 1
    assert len(world.given(Submit)) == 1
    assert world.finish is not None
    assert world.finish.handed_over


def test_a_preemption_before_the_jobs_last_start_is_history() -> None:
    """A requeued job may still show when it was preempted: a cancel is a cancel."""
    facts = msgspec.structs.replace(_CANCELLED, start_time=900.0, preempt_time=100.0, requeue=False)
    world = _running(facts).term().settle()
    assert not world.given(Submit)


def test_a_job_that_ends_with_its_dead_node_was_not_cancelled() -> None:
    """22.05 says only COMPLETING; the node that it has just marked DOWN explains it."""
    world = _running(_CANCELLED)
    world.down = {node(3)}
    world.term().settle().exit(None, signal=15).settle()
    assert world.records[0].verdict.cause == "node_unreachable"


@pytest.mark.parametrize("outcome", ["refused", "unknown"])
@pytest.mark.parametrize("fails", [1, 2])
def test_at_the_time_limit_a_failed_submission_is_tried_again(outcome: str, fails: int) -> None:
    """A busy slurmctld must not cost the run: after a pause, while the job has time; the hands look for a job first."""
    world = _running(_LIMIT)
    world.sbatch = [outcome] * fails
    world.term().settle()
    assert len(world.given(Submit)) == 1
    world.run(10)
    assert len(world.given(Submit)) == fails + 1
    world.exit(None, signal=15).settle()
    assert world.finish is not None
    assert world.finish.handed_over
    assert world.said.count("trying again") == 1


def test_the_end_waits_for_the_next_try() -> None:
    """The script has ended in the pause: the job stays until the submission is made."""
    world = _running(_LIMIT)
    world.sbatch = ["refused"]
    world.term().settle().exit(None, signal=15).settle()
    assert not world.given(Finish)
    world.run(3)
    assert world.given(Finish)[0].handed_over


def test_a_submission_that_is_refused_three_times_is_given_up() -> None:
    """The tries are bounded, and the user reads sbatch's words and what to do."""
    world = _running(_LIMIT)
    world.sbatch = ["refused"] * 9
    world.term().run(30).exit(None, signal=15).run(30)
    assert len(world.given(Submit)) == 3
    assert "no successor: sbatch refused" in world.said
    assert world.finish is not None
    assert not world.finish.handed_over


def test_the_next_supervisor_goes_on_with_the_tries() -> None:
    """Killed in the pause: the order is given again at once."""
    world = _running(_LIMIT)
    world.sbatch = ["refused"]
    world.term().settle().restart().settle()
    assert len(world.given(Submit)) == 2
    assert world.state.submitted is not None


def test_what_slurm_starts_again_is_not_submitted() -> None:
    """State PENDING after a signal: Slurm has requeued the job."""
    world = _running(msgspec.structs.replace(_CANCELLED, state="PENDING")).term().settle().exit(1)
    assert not world.given(Submit)
    assert world.finish is not None
    assert world.finish.handed_over


def test_a_signal_to_the_script_alone_is_a_persons_stop() -> None:
    """A `scancel -b -s TERM` leaves the job RUNNING: the script may go on, and nothing follows when it ends."""
    world = _running(JobFacts(job_id=JobId("17"), state="RUNNING")).term(whole=False).run(600)
    assert world.state.stage is Stage.ENDING
    world.exit(1).settle()
    assert world.records[0].verdict.cause == "user_stop"
    assert world.finish is not None
    assert len(world.launches) == 1


@pytest.mark.parametrize("last", ["collecting", "stopping", "checking", "launching", "submitting"])
def test_nothing_starts_after_a_cancel_whatever_was_under_way(last: str) -> None:
    """SIGTERM at any moment of a recovery: no launch, no submission, the job ends."""
    world = World(spares=0 if last == "submitting" else 1).start().progress(5).kill(node(3))
    while world.state.stage != last:
        assert world.answer(), world.state.stage
    before = len(world.launches), len(world.given(Submit))
    world.slurm = _CANCELLED
    world.term()
    if last == "launching":
        world.silent_hands = {LaunchAttempt}
    world.settle()
    if world.live:
        world.exit(None, signal=15)
    world.run(100)
    assert (len(world.launches), len(world.given(Submit))) == before
    assert world.finish is not None
    assert not world.finish.handed_over


def test_a_successor_of_a_cancelled_run_is_cancelled() -> None:
    """The user cancels while sbatch is under way: its job is taken back."""
    world = World().start().progress(5).kill(node(3))
    while world.state.stage is not Stage.SUBMITTING:
        world.answer()
    world.slurm = _CANCELLED
    world.term().settle()
    assert world.given(CancelJob) == [CancelJob(job_id=JobId("19"))]
    assert world.finish is not None
    assert not world.finish.handed_over


@pytest.mark.parametrize("state", ["NODE_FAIL", "COMPLETING"])
def test_a_dead_node_that_ends_the_job_leaves_the_successor(state: str) -> None:
    """Slurm marks the node DOWN that the run is just being resubmitted for; its SIGTERM is no person's."""
    world = World().start().progress(5).kill(node(3))
    while world.state.stage is not Stage.SUBMITTING:
        world.answer()
    world.slurm, world.down = JobFacts(job_id=JobId("17"), state=state, requeue=False), {node(3)}
    world.term().settle()
    assert not world.given(CancelJob)
    assert world.finish is not None
    assert world.finish.handed_over
    assert "job 19 goes on with the run" in world.said


def test_a_dead_node_leaves_a_successor_that_is_heard_of_late() -> None:
    """The answer of sbatch comes when the job is over already, and nothing speaks against the successor."""
    world = World().start().progress(5).kill(node(3))
    while world.state.stage is not Stage.SUBMITTING:
        world.answer()
    world.slurm = JobFacts(job_id=JobId("17"), state="NODE_FAIL", requeue=False)
    world.silent_hands = {Submit}
    world.term().run(100)
    world.send(Submitted(at=world.at, outcome="accepted", job_id=JobId("99")))
    assert not world.given(CancelJob)


def test_a_successor_that_is_heard_of_after_the_end_is_cancelled_too() -> None:
    """The answer of sbatch comes when the job is over already."""
    world = World().start().progress(5).kill(node(3))
    while world.state.stage is not Stage.SUBMITTING:
        world.answer()
    world.slurm, world.silent_hands = _CANCELLED, {Submit}
    world.term().run(100)
    world.send(Submitted(at=world.at, outcome="accepted", job_id=JobId("99")))
    assert world.given(CancelJob) == [CancelJob(job_id=JobId("99"))]


def test_an_attempt_that_starts_after_the_signal_is_stopped() -> None:
    """The order to launch was on its way: what it started does not go on."""
    world = World().begin()
    while world.state.stage is not Stage.LAUNCHING:
        world.answer()
    world.slurm = _CANCELLED
    world.term()
    world.live = world.last_attempt = 1
    world.send(AttemptStarted(at=world.at, attempt=AttemptNo(1), pid=9))
    world.settle()
    assert world.given(StopAttempt)
    assert world.finish is not None
    assert world.finish.signal == 15


def test_a_job_that_is_being_ended_is_not_restarted_before_its_signal_is_seen() -> None:
    """The ranks died of the same scancel first: Slurm's COMPLETING says so, planned beats noise."""
    world = _running(_CANCELLED).exit(1).settle()
    assert len(world.launches) == 1
    assert world.finish is not None
    assert world.records[0].verdict.cause == "user_cancel"


def test_the_next_supervisor_cancels_the_unwanted_successor_again() -> None:
    """Nobody knows whether the first scancel was done before the supervisor was killed."""
    world = World().start().progress(5).kill(node(3))
    while world.state.stage is not Stage.SUBMITTING:
        world.answer()
    world.slurm = _CANCELLED
    world.term().settle().restart()
    assert world.given(CancelJob) == 2 * [CancelJob(job_id=JobId("19"))]
