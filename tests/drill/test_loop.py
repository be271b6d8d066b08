"""One fault after the other, and what is kept of each."""

from pathlib import Path

import msgspec
import pytest

from supervisor.drill import loop, watch
from supervisor.drill.inject import NotMade, order
from supervisor.drill.kinds import KINDS
from supervisor.drill.loop import Drill
from supervisor.drill.record import DrillRecord
from supervisor.drill.suite import Limits, of_faults, read_suite
from supervisor.drill.trainer import write_whole
from supervisor.model.ids import IncidentNo
from tests.drill.made import AT, drill, injection, record, verdict
from tests.drill.world import FakeSteps, FakeTarget, World


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_S", 0.01)
    for name in ("LATE_S", "_STEADY_S", "_MOVING_S", "_ENDED_S"):
        monkeypatch.setattr(loop, name, 0.3)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "run", writes=5.0)


def _drill(world: World, steps: FakeSteps, *faults: str, tmp_path: Path) -> Drill:
    suite = msgspec.structs.replace(
        of_faults(faults, read_suite("standard@1")), own_limits={}, limits=Limits(seen_s=0.3, back_s=0.3)
    )
    return Drill(
        target=FakeTarget(world),
        suite=suite,
        steps=steps,
        folder=tmp_path / "drill",
        record=drill(),
        say=lambda _: None,
    )


async def test_an_interruption_is_followed_to_its_end(world: World, tmp_path: Path) -> None:
    """Away from the batch host; the record is kept beside the injection, on disk too."""
    steps = FakeSteps(deed=lambda: world.interrupt(record()))
    kept = await _drill(world, steps, "rank_killed", tmp_path=tmp_path).carry_out()
    (seen,) = kept.seen
    assert steps.where == [("rank_killed", "node002")]
    assert seen.record == record()
    assert (seen.is_moving, seen.has_ended, seen.more) == (True, False, ())
    assert (seen.job_id, seen.run_id, kept.jobs) == ("7", "drill-abcde", ("7",))
    on_disk = msgspec.json.decode((tmp_path / "drill" / "record.json").read_bytes(), type=DrillRecord)
    assert on_disk == kept
    assert (tmp_path / "drill" / "evidence" / "01-rank_killed" / "verdict.json").exists()


async def test_earlier_interruptions_are_not_taken_for_the_answer(world: World, tmp_path: Path) -> None:
    """Only what comes after the fault counts, and what comes after that is told."""
    world.interrupt(record())

    def twice() -> None:
        world.interrupt(record(incident=IncidentNo(2)))
        world.interrupt(record(incident=IncidentNo(3)))

    kept = await _drill(world, FakeSteps(deed=twice), "rank_killed", tmp_path=tmp_path).carry_out()
    assert kept.seen[0].record is not None
    assert (kept.seen[0].record.incident, kept.seen[0].more) == (2, (3,))


async def test_nothing_may_follow_a_helpers_end(world: World, tmp_path: Path) -> None:
    """It has another, steps are made, and no record is there; what lives on the batch host is hit there."""
    steps = FakeSteps(deed=lambda: None, back_at=AT + 1)
    kept = await _drill(world, steps, "agent_killed", "supervisor_killed", tmp_path=tmp_path).carry_out()
    assert steps.where == [("agent_killed", "node002"), ("supervisor_killed", "node001")]
    assert [(seen.record, seen.is_moving) for seen in kept.seen] == [(None, True)] * 2
    assert kept.seen[0].injection == injection(back_at=AT + 1)


async def test_a_rank_that_nobody_missed_is_let_go_on(world: World, tmp_path: Path) -> None:
    """A drill leaves no rank frozen."""
    steps = FakeSteps(deed=lambda: None)
    kept = await _drill(world, steps, "rank_hung", tmp_path=tmp_path).carry_out()
    assert steps.undone == [injection().pid]
    assert kept.seen[0].record is None


async def test_a_run_that_stops_has_ended(world: World, tmp_path: Path) -> None:
    """Where it should: no new steps are waited for."""

    def stop() -> None:
        world.interrupt(record(verdict(), action="stop"))
        world.write(stage="finished", conclusion="stopped")

    kept = await _drill(world, FakeSteps(deed=stop), "rank_killed", tmp_path=tmp_path).carry_out()
    assert (kept.seen[0].has_ended, kept.seen[0].is_moving) == (True, False)


async def test_what_could_not_be_made_is_kept_with_its_reason(world: World, tmp_path: Path) -> None:
    """And the drill goes on with the next."""
    kept = await _drill(world, FakeSteps(), "rank_killed", "exception", tmp_path=tmp_path).carry_out()
    assert [seen.problem for seen in kept.seen] == [
        "no process of its kind was found",
        "only the drill's own trainer can have it",
    ]


async def test_a_run_that_is_not_steady_is_not_drilled(world: World, tmp_path: Path) -> None:
    """A fault on top of a recovery would be judged for both; what is kept says why the drill broke off."""
    world.interrupt(record(is_closed=False))
    kept = await _drill(world, FakeSteps(), "rank_killed", tmp_path=tmp_path).carry_out()
    assert kept.seen == ()
    assert "was not steady within" in kept.problem
    assert (tmp_path / "drill" / "record.json").exists()


async def test_the_next_fault_waits_for_a_new_word(world: World, tmp_path: Path) -> None:
    """What a supervisor wrote before it was killed says nothing about now."""
    world.writes = 0.0
    steps = FakeSteps(deed=lambda: None, back_at=AT + 1)
    kept = await _drill(world, steps, "supervisor_killed", "agent_killed", tmp_path=tmp_path).carry_out()
    assert [seen.fault for seen in kept.seen] == ["supervisor_killed"]
    assert "was not steady within" in kept.problem


@pytest.mark.parametrize(
    "changes", [{"stage": "launching"}, {"nodes_up": 1}, {"step": None}], ids=lambda changes: next(iter(changes))
)
def test_steady_needs_everything(world: World, changes: dict[str, object]) -> None:
    """Ranks that step, every node's agent, and a word that is newer than the fault before."""
    world.writes = 0.0
    assert world.watched().is_steady(since=0.0)
    assert not world.watched().is_steady(since=1.0)
    world.write(**changes)
    assert not world.watched().is_steady(since=0.0)


def test_steps_are_told_by_checkpoints_too(world: World, tmp_path: Path) -> None:
    """The status is five seconds old at times."""
    (tmp_path / "step-000120.safetensors").touch()
    (tmp_path / "step-000130.safetensors.tmp").touch()
    assert watch.Watched(folder=world.folder, checkpoints=tmp_path).step() == 120
    assert watch.Watched(folder=world.folder).step() == 50
    assert watch.Watched(folder=tmp_path / "none").step() == -1


async def test_an_order_is_answered_by_the_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the moment of the deed; a trainer that does not answer is not waited for for ever."""
    write_whole(tmp_path / "done-5.json", {"at": 1.0})
    monkeypatch.setattr("supervisor.drill.inject._ORDER_S", 0.2)
    with pytest.raises(NotMade, match="did not take the order"):
        await order(KINDS["exception"], 5, tmp_path)
    with pytest.raises(NotMade, match="cannot be written"):
        await order(KINDS["exception"], 5, tmp_path / "none")
