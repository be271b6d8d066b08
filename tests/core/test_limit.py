"""The time limit is read ahead: ranks save and stop before it, and another job goes on."""

from typing import Any

import msgspec
import pytest

from supervisor.core.events import Saved, SignalReceived, SlurmReported
from supervisor.core.instructions import AskSave, AskSlurm, CancelJob, ChooseCheckpoint, Requeue, StopAttempt, Submit
from supervisor.core.limit import LEAVE_S
from supervisor.core.state import Stage
from supervisor.model.facts import JobFacts
from supervisor.model.ids import AttemptNo, JobId
from supervisor.model.verdict import Class
from supervisor.settings import Settings
from tests.core.facts import whole
from tests.core.harness import World

_CK = Settings(checkpoint="/ck")
_LIMIT_S = 3600.0
_RUNNING = JobFacts(job_id=JobId("17"), state="RUNNING")


def _running(settings: Settings = _CK, **world: Any) -> World:
    """Steps are made, a checkpoint lies there, the limit is an hour away."""
    made = World(settings=settings, choice=whole(10), walltime_s=_LIMIT_S, **world).start().progress(25)
    made.choice = whole(20)
    return made


def _asked(settings: Settings = _CK, **world: Any) -> World:
    made = _running(settings, **world)
    made.at += _LIMIT_S - 125
    made.run(10)
    assert made.given(AskSave)
    return made


def test_the_ranks_are_asked_in_time_and_not_before() -> None:
    """Slurm is asked first whether the limit still stands, once; nothing was asked of it before."""
    world = _running()
    world.at += _LIMIT_S - 140
    world.run(10)
    assert not world.given(AskSlurm)
    world.run(15)
    assert len(world.given(AskSlurm)) == 1
    assert world.given(AskSave)[0] == AskSave(attempt=AttemptNo(1))
    assert world.said.count("asked to save and stop") == 1


def test_agents_that_were_away_are_asked_again() -> None:
    """Each ten seconds, as after a person's halt."""
    world = _asked()
    world.run(30)
    assert 3 <= len(world.given(AskSave)) <= 5


def test_a_slow_save_begins_earlier() -> None:
    """One and a half times the longest so far; but half of the job's time is for computing."""
    world = _running()
    world.send(Saved(at=world.at, attempt=AttemptNo(1), seconds=200.0))
    world.send(Saved(at=world.at, attempt=AttemptNo(1), seconds=20.0))
    world.at += _LIMIT_S - 430
    assert not world.run(5).given(AskSave)
    assert world.run(15).given(AskSave)
    slow = _running()
    slow.send(Saved(at=slow.at, attempt=AttemptNo(1), seconds=9000.0))
    slow.at += _LIMIT_S / 2 - 20
    assert not slow.run(10).given(AskSave)
    assert slow.run(20).given(AskSave)


def test_a_limit_that_was_raised_is_not_read_ahead() -> None:
    """Slurm knows better than what it said when the job began; suspended time counts like that, too."""
    world = _running()
    world.slurm = msgspec.structs.replace(_RUNNING, end_time=world.at + 2 * _LIMIT_S)
    world.at += _LIMIT_S - 100
    world.run(60)
    assert not world.given(AskSave)
    assert len(world.given(AskSlurm)) == 1
    world.at += _LIMIT_S
    world.run(10)
    assert world.given(AskSave)


def test_without_slurms_answer_the_known_limit_counts() -> None:
    """A busy slurmctld costs seconds."""
    world = _running()
    world.silent_hands = {AskSlurm}
    world.at += _LIMIT_S - 120
    assert world.run(8).given(AskSave)


def test_once_they_have_saved_and_stopped_another_job_goes_on() -> None:
    """Exit code 0 does not mean that the run is complete; it is planned, and costs no budget."""
    world = _asked()
    world.choice = whole(30)
    world.exit(0).settle()
    assert world.given(Submit) == [Submit(exclude=(), after_this_job=True)]
    assert world.finish is not None
    assert (world.finish.handed_over, world.finish.code) == (True, 1)
    (record,) = world.records
    assert (record.verdict.cls, record.verdict.cause, record.action) == (Class.PLANNED, "walltime", "resubmit")
    assert record.is_closed
    assert (world.state.behind.restarts, world.state.behind.planned) == (0, 1)


def test_a_script_that_failed_while_it_left_has_saved_all_the_same() -> None:
    """What counts is the checkpoint that was not there before."""
    world = _asked()
    world.choice = whole(30)
    world.exit(1).settle()
    assert world.given(Submit)
    assert world.records[0].verdict.cause == "walltime"


def test_a_failure_without_a_new_checkpoint_is_one() -> None:
    """As at any other time: it is diagnosed, and started again within the budgets."""
    world = _asked()
    world.exit(1).settle()
    assert not world.given(Submit)
    assert world.records[0].verdict.cls is Class.SOFTWARE
    assert world.state.behind.restarts == 1
    assert world.state.saving is None


def test_a_run_that_is_complete_just_then_is_complete() -> None:
    """Nothing newer than what this job began from: another one would get no further."""
    world = _running()
    world.choice = whole(10)
    world.at += _LIMIT_S - 100
    world.run(10).exit(0).settle()
    assert not world.given(Submit)
    assert world.finish is not None
    assert (world.finish.code, world.finish.handed_over) == (0, False)


def test_ranks_that_save_and_go_on_are_stopped() -> None:
    """What they compute after the checkpoint would be lost; nothing is stopped before it is there."""
    world = _asked()
    world.run(20)
    assert not world.given(StopAttempt)
    world.choice = whole(30)
    world.run(15)
    assert not world.given(StopAttempt)
    world.run(LEAVE_S)
    assert world.given(StopAttempt)
    assert world.given(Submit) == [Submit(exclude=())]
    (record,) = world.records
    assert (record.verdict.cause, world.state.behind.restarts) == ("walltime", 0)
    assert "the checkpoint of step 30 is whole" in world.said


def test_ranks_that_do_not_hear_meet_the_limit_as_ever() -> None:
    """SIGTERM at the limit: the run goes on from the checkpoint of before."""
    world = _asked().run(100)
    assert not world.given(StopAttempt)
    world.slurm = JobFacts(job_id=JobId("17"), state="COMPLETING", reason="TimeLimit")
    world.term().settle()
    assert [order.after_this_job for order in world.given(Submit)] == [True]


def _warned(world: World) -> None:
    world.send(SignalReceived(at=world.at, number=10))


def _halted(world: World) -> None:
    world.order("halt", until=world.at + 2 * _LIMIT_S)


def _unknown(world: World) -> None:
    world.state = msgspec.structs.replace(world.state, walltime_at=None)


@pytest.mark.parametrize(
    ("settings", "story"),
    [
        (Settings(), None),
        (Settings(checkpoint="/ck", mode="observe"), None),
        (Settings(checkpoint="/ck", save_margin_s=0.0), None),
        (_CK, _warned),
        (_CK, _halted),
        (_CK, _unknown),
    ],
    ids=["no checkpoint", "observe", "switched off", "the user's own signal", "to be halted", "no limit"],
)
def test_who_would_not_go_on_is_not_asked(settings: Settings, story: Any) -> None:
    """Without a successor the last minutes are the run's own."""
    world = _running(settings)
    if story:
        story(world)
    halts = len(world.given(AskSave))
    world.at += _LIMIT_S - 100
    world.run(15)
    assert world.state.saving is None
    assert len(world.given(AskSave)) == halts or world.state.halt is not None


@pytest.mark.parametrize(
    ("changes", "is_asked"), [({}, False), ({"save_signal": "USR1"}, True), ({"save_file": True}, True)]
)
def test_ranks_that_never_beat_are_asked_only_as_their_user_said(changes: dict[str, Any], is_asked: bool) -> None:  # noqa: FBT001
    """Nobody can know whether they would hear: how such a script ends is its own decision."""
    settings = msgspec.structs.replace(_CK, **changes)
    world = World(settings=settings, choice=whole(10), walltime_s=_LIMIT_S).start()
    world.choice = whole(20)
    world.at += _LIMIT_S - 100
    world.run(10)
    assert bool(world.given(AskSave)) is is_asked
    world.exit(0).settle()
    assert bool(world.given(Submit)) is is_asked


def test_a_command_in_an_allocation_is_let_alone() -> None:
    """`supervise run`: what comes after the allocation is its owner's."""
    world = _running(has_script=False)
    world.at += _LIMIT_S - 100
    world.run(15).exit(0).settle()
    assert not world.given(AskSave)
    assert not world.given(Requeue)


def test_a_script_that_got_its_own_signal_decides_itself() -> None:
    """It may have submitted the next job already: a second one would be a twin."""
    world = _asked()
    _warned(world)
    world.choice = whole(30)
    world.exit(0).settle()
    assert not world.given(Submit)


def test_a_job_whose_id_counts_keeps_it() -> None:
    """Before the limit Slurm can still start the same job again."""
    world = _asked(job_id=JobId("17_3"))
    world.choice = whole(30)
    world.exit(0).settle()
    assert world.given(Requeue)
    assert not world.given(Submit)


def test_a_store_without_an_answer_does_not_cost_the_successor() -> None:
    """The steps that were seen are progress enough."""
    world = _asked()
    world.silent_hands = {ChooseCheckpoint}
    world.exit(0).run(40)
    assert world.given(Submit)


def test_the_limit_while_the_successor_is_decided_changes_nothing() -> None:
    """One record, one successor."""
    world = _asked()
    world.choice = whole(30)
    world.exit(0)
    assert world.state.stage is Stage.LEAVING
    world.slurm = JobFacts(job_id=JobId("17"), state="COMPLETING", reason="TimeLimit")
    world.term().settle()
    assert len(world.given(Submit)) == 1
    assert [record.verdict.cause for record in world.records] == ["walltime"]


def test_a_cancel_takes_the_successor_along() -> None:
    """While sbatch works."""
    world = _asked()
    world.choice = whole(30)
    world.silent_hands = {Submit}
    world.exit(0).settle()
    world.silent_hands = set()
    world.slurm = JobFacts(job_id=JobId("17"), state="COMPLETING")
    world.term().run(60)
    assert world.given(CancelJob) or not [order for order in world.given(Submit)[1:] if not order.only_look]
    assert world.finish is not None
    assert not world.finish.handed_over


def test_a_halt_comes_before_a_successor() -> None:
    """A person's word, while the checkpoint is looked for."""
    world = _asked()
    world.choice = whole(30)
    world.exit(0)
    world.order("halt", is_now=True)
    world.settle()
    assert not world.given(Submit)
    assert world.finish is not None
    assert "halted by alice" in world.finish.reason


def test_a_supervisor_that_dies_then_goes_on_from_there() -> None:
    """The question for the checkpoint is put again."""
    world = _asked()
    world.choice = whole(30)
    world.exit(0).restart().settle()
    assert world.given(Submit) == [Submit(exclude=(), after_this_job=True)]


def test_a_grace_is_no_time_limit() -> None:
    """Slurm's EndTime is the end of the grace then, and what follows is Slurm's own."""
    world = _running()
    facts = msgspec.structs.replace(_RUNNING, preempt_time=world.at, end_time=world.at + 60)
    world.send(SlurmReported(at=world.at, job=facts))
    assert not world.run(10).given(AskSave)
