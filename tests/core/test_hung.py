"""What the machine does about ranks that live and stand still."""

import pytest

from supervisor.core.events import Hung, RankFailed
from supervisor.core.instructions import Collect, StopAttempt
from supervisor.core.state import Stage
from supervisor.model.ids import AttemptNo, Rank
from supervisor.settings import Settings
from tests.core.harness import World


def _hang(world: World, silent_s: float = 9.0) -> World:
    world.send(Hung(at=world.at, attempt=AttemptNo(world.live), silent_s=silent_s))
    return world


def test_a_hang_is_an_interruption_since_the_last_move() -> None:
    """The evidence tells of it, the attempt is stopped with proof, and another one starts."""
    world = _hang(World().start().progress(5))
    assert "no rank has moved for 9 s, though all live" in world.said
    world.settle()
    (order,) = world.given(Collect)
    assert order.hung_s == 9.0
    assert world.records[0].split.detect == 9.0
    assert (world.records[0].action, len(world.launches)) == ("relaunch", 2)


def test_what_follows_a_hang_is_not_taken_for_one() -> None:
    """The next attempt's crash is a crash."""
    world = _hang(World().start().progress(5)).settle().ranks().progress(6).exit(139).settle()
    assert [order.hung_s for order in world.given(Collect)] == [9.0, None]


def test_observe_mode_only_tells_and_sees_what_comes_after() -> None:
    """Nothing is stopped; ranks that move again have not been broken, and their crash is another interruption."""
    world = _hang(World(settings=Settings(mode="observe")).start().progress(5)).settle()
    assert world.state.stage is Stage.RUNNING
    assert not world.given(StopAttempt)
    _hang(world).settle()
    assert len(world.records) == 1
    world.progress(6).exit(139).settle()
    assert len(world.records) == 2


def test_a_hang_that_was_only_recorded_is_acted_upon_when_a_person_says_so() -> None:
    """Nobody tells it twice."""
    world = _hang(World(settings=Settings(mode="observe")).start().progress(5)).settle()
    assert "hangs already" in world.order("mode", mode="act")
    world.settle()
    assert len(world.launches) == 2


def test_ranks_that_were_asked_to_save_and_stop_are_left_to_it() -> None:
    """Their last work is a save that nobody may tell of; the halt has its own end."""
    world = World(settings=Settings(checkpoint="/ck")).start().progress(5)
    world.order("halt", until=world.at + 500)
    assert not _hang(world).records


@pytest.mark.parametrize(("setting", "records"), [("never", 0), ("stalled", 1)])
def test_a_rank_that_may_fail_may_leave_the_others_standing(setting: str, records: int) -> None:
    """`on_rank_exit never`: the script decides."""
    world = World(settings=Settings(on_rank_exit=setting)).start().progress(5)  # type: ignore[arg-type]  # its words
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), rank=Rank(0), code=1))
    assert len(_hang(world).records) == records
