"""A halt is never lost: not by Slurm's own restart, not by an answer that comes late, not in the midst of an end."""

import msgspec
import pytest

from supervisor.core.events import CheckpointChosen, RankFailed, Requeued, Stalled, Submitted, Tick
from supervisor.core.instructions import AskSave, CancelJob, ChooseCheckpoint, Finish, StopAttempt, Submit
from supervisor.core.state import Stage
from supervisor.core.summary import carried
from supervisor.model.ids import AttemptNo, JobId
from supervisor.settings import Settings
from tests.core.facts import NONE_YET, node, whole
from tests.core.harness import World

_CK = Settings(checkpoint="/ck")


def _running(**options: object) -> World:
    world = World(**options).start()  # type: ignore[arg-type]  # fields of World
    world.ranks().progress(5)
    return world


def _told_to_end(world: World, **facts: object) -> World:
    """SIGTERM, and Slurm's word on it."""
    assert world.slurm is not None
    world.slurm = msgspec.structs.replace(world.slurm, **facts)
    world.term()
    return world


def _next_job(world: World) -> World:
    """The run's next job, as it begins with what the log of this one says."""
    return World(carried=carried(world.state, world.at), settings=world.settings, choice=world.choice).begin()


def _submitting(world: World) -> World:
    world.kill(node(2))
    while world.state.stage is not Stage.SUBMITTING:
        assert world.answer()
    return world


@pytest.mark.parametrize("facts", [{"state": "PENDING"}, {"state": "PREEMPTED", "requeue": True}])
def test_what_slurm_starts_again_stays_halted(facts: dict[str, object]) -> None:
    """An admin's requeue or a preemption while the halt waits for its checkpoint."""
    world = _running(settings=_CK, choice=whole(3), preempt_mode="REQUEUE")
    world.order("halt", why="store moves")
    world.run(12)
    _told_to_end(world, **facts)
    world.exit(1, ranks_fail=False)
    world.run(60)
    again = _next_job(world)
    again.run(60)
    assert again.launches == []
    assert again.finish is not None
    assert again.finish.reason == "halted by alice: store moves"


def test_a_job_that_died_in_its_halt_stays_halted() -> None:
    """Its batch host went before the stop was proven, and Slurm starts the job again."""
    world = _running()
    world.order("halt", is_now=True)
    assert world.state.stage is Stage.STOPPING
    again = _next_job(world)
    again.run(60)
    assert again.launches == []
    assert again.finish is not None


def test_our_own_requeue_that_was_carried_out_already_is_halted() -> None:
    """Its SIGTERM comes before its answer."""
    world = _running(sbatch=["refused"])
    _submitting(world)
    while world.state.stage is not Stage.REQUEUEING:
        assert world.answer()
    world.pending.clear()
    world.order("halt", is_now=True)
    world.term()
    world.send(Requeued(at=world.at, ok=True))
    world.run(60)
    again = _next_job(world)
    again.run(60)
    assert again.launches == []


@pytest.mark.parametrize("is_out_of_time", [False, True])
def test_a_run_that_was_halted_may_be_started_again(*, is_out_of_time: bool) -> None:
    """By a person's own requeue of the job: the halt was carried out or outlived, and is no ban for ever."""
    world = _running()
    if is_out_of_time:
        world.order("halt", until=world.at + 500)
        _told_to_end(world, state="COMPLETING", reason="TimeLimit")
        world.exit(1, ranks_fail=False)
    else:
        world.order("halt", is_now=True)
    world.run(60)
    assert world.finish is not None
    again = _next_job(world)
    again.run(60)
    assert len(again.launches) == 1


def test_a_successor_that_is_heard_of_after_the_end_is_cancelled() -> None:
    """Nobody knew whether it was submitted, so the halted job did not wait for ever."""
    world = _submitting(_running(sbatch=["unknown"] * 20))
    world.order("halt", is_now=True)
    world.silent_hands = {Submit}
    world.run(2000)
    assert world.finish is not None
    world.send(Submitted(at=world.at, outcome="accepted", job_id=JobId("99")))
    assert world.given(CancelJob) == [CancelJob(job_id=JobId("99"))]


def test_a_script_that_outlives_its_sigterm_is_halted() -> None:
    """A SIGTERM that was meant for the script: Slurm lets the job run, and so may the script for hours."""
    world = _running()
    world.term(whole=False)
    world.run(120)
    assert not world.given(Finish)
    world.order("halt", is_now=True)
    world.run(60)
    assert world.given(StopAttempt)
    assert world.finish is not None
    assert world.finish.reason == "halted by alice"


def test_a_script_that_outlives_its_sigterm_has_its_time_until_then() -> None:
    """`--before`: it may end by itself, but not later."""
    world = _running()
    world.term(whole=False)
    world.run(60)
    world.order("halt", until=world.at + 100)
    world.run(90)
    assert not world.given(Finish)
    world.run(60)
    assert world.finish is not None


def test_a_halt_that_met_a_diagnosis_is_not_lost_in_the_end() -> None:
    """Ordered while the evidence is gathered; then a SIGTERM comes that was meant for the script, which goes on."""
    world = _running(settings=Settings(on_rank_exit="any"))
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    assert world.state.stage is Stage.COLLECTING
    world.order("halt", is_now=True)
    world.term(whole=False)
    world.run(60)
    assert world.given(StopAttempt)
    assert world.finish is not None


def test_a_halt_at_once_is_heard_while_one_that_waits_meets_an_interruption() -> None:
    """In mode observe the interruption is left alone, and the attempt would go on."""
    world = _running(settings=Settings(checkpoint="/ck", mode="observe", on_rank_exit="any"), choice=whole(3))
    world.order("halt")
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    world.order("halt", is_now=True)
    world.run(60)
    assert world.given(StopAttempt)
    assert world.finish is not None


def test_ranks_are_asked_to_save_until_they_have() -> None:
    """A broker that was away, or a supervisor that died with the question, must not make the halt wait for ever."""
    world = _running(settings=_CK, choice=whole(3))
    world.order("halt")
    world.settle()
    world.restart()
    world.done.clear()
    world.run(30)
    assert world.given(AskSave)


def test_a_look_for_the_halt_is_no_answer_for_the_next_attempt() -> None:
    """It was begun before the last save: the restart after a halt that was taken back would lose steps."""
    world = _running(settings=_CK)
    world.order("halt")
    (look,) = [one for one in world.pending if isinstance(one, ChooseCheckpoint)]
    world.order("resume")
    world.pending.clear()
    world.choice = whole(9)
    world.exit(1)
    while not world.state.is_choosing:
        assert world.answer()
    world.send(CheckpointChosen(at=world.at, attempt=look.attempt, choice=NONE_YET))
    world.run(30)
    assert world.launches[-1].attempt == 2
    assert world.launches[-1].resume_from == "/ck/9"


def test_a_halt_is_recorded_once() -> None:
    """However often an impatient person orders it."""
    world = _running()
    world.order("halt", is_now=True)
    assert world.order("halt", is_now=True) == "the run is being halted"
    world.order("halt", until=world.at + 9)
    world.run(60)
    assert len(world.records) == 1
    assert world.state.behind.planned == 1


def test_a_halt_at_once_follows_one_that_waits() -> None:
    """Waiting was too long."""
    world = _running(settings=_CK, choice=whole(3))
    world.order("halt")
    world.run(12)
    world.order("halt", is_now=True)
    world.run(60)
    assert world.finish is not None


def test_the_mode_act_counts_for_an_attempt_that_was_observed() -> None:
    """Its fault was only recorded; from now on the next one is acted upon."""
    world = _running(settings=Settings(mode="observe", on_rank_exit="any"))
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    world.run(30)
    assert world.state.stage is Stage.RUNNING
    assert world.state.attempt is not None
    assert world.state.attempt.is_observed
    world.progress(6)
    assert "the next interruption is acted upon" in world.order("mode", mode="act")
    world.exit(1)
    world.run(60)
    assert len(world.launches) == 2


def test_a_node_that_is_leaving_does_not_come_back_by_word() -> None:
    """Slurm was asked already to take it out."""
    world = _running(count=5, spares=1)
    world.order("exclude", nodes=(node(5),))
    world.send(Tick(at=world.at))
    assert world.state.shrinking == (node(5),)
    assert "only in another job" in world.order("unexclude", nodes=(node(5),))


def test_the_mode_act_ends_a_hang_that_was_observed() -> None:
    """That the other ranks stand still is told once: without that the attempt would hang until its time limit."""
    world = _running(settings=Settings(mode="observe"))
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    world.send(Stalled(at=world.at, attempt=AttemptNo(1), silent_s=6.0))
    world.run(30)
    assert world.state.stage is Stage.RUNNING
    assert "acted upon now" in world.order("mode", mode="act")
    world.run(60)
    assert len(world.launches) == 2
