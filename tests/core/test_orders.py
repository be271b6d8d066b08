"""What a person orders of a running job: at any moment, and never more than asked for."""

import pytest

from supervisor.core.events import Ordered
from supervisor.core.instructions import AskSave, CancelJob, ChooseCheckpoint, Finish, PutAway, StopAttempt, Submit
from supervisor.core.state import Stage
from supervisor.core.summary import carried
from supervisor.model.order import PersonOrder
from supervisor.model.verdict import Class, Retry, Verdict
from supervisor.settings import Settings
from tests.core.facts import crash, node, nodes, whole
from tests.core.harness import World

_CK = Settings(checkpoint="/ck")


def _running(**options: object) -> World:
    world = World(**options).start()  # type: ignore[arg-type]  # fields of World
    world.ranks().progress(5)
    return world


def test_halt_now_stops_the_run() -> None:
    """Stopped with proof, recorded as planned, and nothing is started again."""
    world = _running()
    assert world.order("halt", is_now=True, why="store moves") == "the run is being halted"
    world.run(60)
    assert world.given(StopAttempt)
    assert world.finish is not None
    assert world.finish.reason == "halted by alice: store moves"
    assert len(world.launches) == 1
    (record,) = world.records
    assert (record.verdict.cls, record.verdict.cause, record.action) == (Class.PLANNED, "user_stop", "stop")
    assert world.state.behind.planned == 1


def test_halt_waits_for_a_newer_checkpoint() -> None:
    """The ranks are asked to save; the one that is there already does not count."""
    world = _running(settings=_CK, choice=whole(3))
    assert "after its next checkpoint" in world.order("halt")
    world.run(60)
    assert not world.given(Finish)
    assert {order.attempt for order in world.given(AskSave)} == {1}
    world.choice = whole(6)
    world.run(30)
    assert world.finish is not None
    assert "the checkpoint of step 6 is whole" in world.said


def test_the_first_checkpoint_counts_where_there_was_none() -> None:
    """An empty folder is an answer, too."""
    world = _running(settings=_CK)
    world.order("halt")
    world.run(15)
    world.choice = whole(1)
    world.run(15)
    assert world.finish is not None


def test_a_store_without_an_answer_is_waited_for() -> None:
    """Nothing is known then: the run goes on."""
    from tests.core.facts import NO_ANSWER

    world = _running(settings=_CK, choice=whole(3))
    world.choice = NO_ANSWER
    world.order("halt")
    world.run(60)
    assert world.finish is None
    assert world.given(AskSave) == []
    assert len(world.given(ChooseCheckpoint)) <= 10, "the store is asked too often"


def test_halt_has_a_last_moment() -> None:
    """Checkpoint or not."""
    world = _running(settings=_CK, choice=whole(3))
    assert "in 100 s at the latest" in world.order("halt", until=world.at + 100)
    world.run(90)
    assert not world.given(Finish)
    world.run(30)
    assert world.finish is not None


@pytest.mark.parametrize(("seconds", "told"), [(30, "in 30 s"), (600, "in 10 min"), (5400, "in 1 h 30 min")])
def test_the_last_moment_is_told_as_a_person_counts(seconds: float, told: str) -> None:
    """Nobody reckons in thousands of seconds."""
    world = _running(settings=_CK, choice=whole(3))
    assert f"{told} at the latest" in world.order("halt", until=world.at + seconds)


def test_halt_before_a_time_needs_no_checkpoint() -> None:
    """But `halt` alone would wait for ever."""
    world = _running()
    assert "no checkpoints are known" in world.order("halt")
    world.run(30)
    assert not world.given(Finish)
    world.order("halt", until=world.at + 20)
    world.run(40)
    assert world.finish is not None


@pytest.mark.parametrize("code", [0, 3])
def test_a_script_that_saves_and_stops_has_been_halted(code: int) -> None:
    """It heeds `beat()`: its own exit code is the job's, and nothing is restarted."""
    world = _running(settings=_CK, choice=whole(3))
    world.order("halt")
    world.run(15)
    world.exit(code, ranks_fail=False)
    world.run(60)
    assert world.finish is not None
    assert world.finish.code == code
    assert world.finish.reason == "halted by alice"
    assert len(world.launches) == 1


def test_resume_takes_a_halt_back() -> None:
    """While it has not begun."""
    world = _running(settings=_CK, choice=whole(3))
    world.order("halt")
    assert "the run goes on" in world.order("resume")
    world.choice = whole(9)
    world.run(60)
    assert world.finish is None
    assert "nothing to take back" in world.order("resume")
    world.order("halt", is_now=True)
    assert "too late" in world.order("resume")


def test_an_interruption_ends_a_run_that_is_to_be_halted() -> None:
    """A restart only to save again would be a waste."""
    world = _running(settings=_CK, choice=whole(3))
    world.order("halt")
    world.exit(1)
    world.run(60)
    assert len(world.launches) == 1
    assert world.finish is not None


@pytest.mark.parametrize("seconds", [0, 1, 2])
def test_halt_during_a_recovery(seconds: int) -> None:
    """Whatever stage it is in: nothing is launched after it."""
    world = World(spares=1, settings=_CK, choice=whole(3)).start()
    world.ranks().progress(5)
    world.kill(node(2))
    for _ in range(seconds):
        world.answer()
    world.order("halt", is_now=True)
    before = len(world.launches)
    world.run(120)
    assert len(world.launches) == before
    assert world.finish is not None
    assert not world.finish.handed_over


def test_halt_before_the_first_attempt() -> None:
    """The script never starts."""
    world = World().begin()
    world.order("halt", is_now=True)
    world.run(30)
    assert world.launches == []
    assert world.finish is not None


def test_halt_while_a_successor_is_submitted() -> None:
    """The successor is cancelled."""
    world = _running()
    world.kill(node(2))
    while world.state.stage is not Stage.SUBMITTING:
        assert world.answer()
    world.order("halt", is_now=True)
    world.run(60)
    assert world.given(CancelJob) or not world.given(Submit)
    assert world.finish is not None
    assert not world.finish.handed_over


def test_an_order_is_carried_out_once() -> None:
    """It is read again after a takeover, and the file goes then."""
    world = _running()
    world.order("exclude", nodes=nodes(3))
    said = world.said
    (done,) = world.given(PutAway)
    world.restart()
    again = PersonOrder(id=done.order, at=world.at, by="alice", what="exclude", nodes=nodes(3))
    world.send(Ordered(at=world.at, order=again))
    assert world.said == said
    assert len(world.given(PutAway)) == 2


def test_an_order_is_carried_out_once_over_all_jobs() -> None:
    """The job that carried it out died before its file was gone; the person has ordered otherwise since."""
    world = _running()
    world.order("mode", mode="observe")
    (done,) = world.given(PutAway)
    world.order("mode", mode="act")
    later = World(state=world.state, carried=carried(world.state, world.at)).start()
    again = PersonOrder(id=done.order, at=world.at, by="alice", what="mode", mode="observe")
    later.send(Ordered(at=later.at, order=again))
    assert later.state.behind.mode == "act"
    assert later.given(PutAway) == [done]


def test_excluded_nodes_are_not_used_again() -> None:
    """The present attempt goes on; the next one, and another job, do without."""
    world = _running(count=5, spares=1)
    assert "node002 stays in use until the next restart" in world.order("exclude", nodes=nodes(2))
    world.run(10)
    assert len(world.launches) == 1
    world.exit(1)
    world.run(30)
    assert node(2) not in world.launches[1].nodes
    assert node(2) in world.state.behind.excluded


def test_an_exclusion_can_be_taken_back() -> None:
    """Before the restart."""
    world = _running(count=5, spares=1)
    world.order("exclude", nodes=nodes(2))
    assert world.order("unexclude", nodes=nodes(2)) == "node002 may be used again"
    world.exit(1)
    world.run(30)
    assert node(2) in world.launches[1].nodes
    assert world.state.behind.excluded == ()


def test_a_dead_node_does_not_come_back_by_word() -> None:
    """It is silent, whatever a person thinks of it."""
    world = _running(count=5, spares=1)
    world.kill(node(2))
    world.run(30)
    assert "only in another job" in world.order("unexclude", nodes=nodes(2))
    assert node(2) not in world.state.behind.excluded


def test_the_mode_can_be_changed_while_ranks_run() -> None:
    """And holds for later jobs of the run."""
    world = _running()
    assert "nothing is stopped" in world.order("mode", mode="observe")
    world.exit(1)
    world.run(30)
    assert len(world.launches) == 1
    assert world.state.behind.mode == "observe"
    other = _running(settings=Settings(mode="observe"))
    assert "acted upon" in other.order("mode", mode="act")
    assert "already" in other.order("mode", mode="act")
    other.exit(1)
    other.run(30)
    assert len(other.launches) == 2


def test_the_mode_stays_during_a_recovery() -> None:
    """Half of one helps nobody."""
    world = _running()
    world.exit(1)
    assert "not now" in world.order("mode", mode="observe")
    world.run(30)
    assert len(world.launches) == 2


def test_an_order_after_the_end_is_answered() -> None:
    """And changes nothing."""
    world = _running()
    world.exit(0)
    world.run(5)
    assert world.order("halt", is_now=True) == "the job is over"
    assert len(world.given(StopAttempt)) == 0


def test_halt_wins_over_a_verdict() -> None:
    """Even one that would help."""
    world = _running()
    world.verdict = Verdict(cls=Class.HARDWARE, cause="gpu_lost", confidence=0.9, summary="x", retry=Retry.YES)
    world.exit(1)
    world.order("halt", is_now=True)
    world.run(60)
    assert len(world.launches) == 1
    assert crash().cause not in world.said
