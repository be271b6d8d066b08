"""How long saves take, as ranks' beats tell."""

import pytest

from supervisor.core.events import Saved
from supervisor.daemon.roster import Roster
from supervisor.model.ids import AttemptNo, NodeName, Rank
from supervisor.model.wire import Beats, RankBeat

_NODE = NodeName("n1")


class _Rank:
    """Rank 0, whose page is read once a second."""

    def __init__(self) -> None:
        self.roster = Roster(silence_s=2.0, expected_s=20.0)
        self.roster.expect([_NODE], 0.0)
        self.roster.begin(AttemptNo(1))
        self.saves: list[float] = []

    def beats(self, at: float, phase: str, *, step: int, count: int, age_s: float = 0.0, pid: int = 1) -> "_Rank":
        rank = RankBeat(rank=Rank(0), pid=pid, step=step, phase=phase, count=count, age_s=age_s, is_alive=True)
        events = self.roster.beats(Beats(node=_NODE, at=at, attempt=AttemptNo(1), ranks=(rank,)), at)
        self.saves += [event.seconds for event in events if isinstance(event, Saved)]
        return self


def _save(rank: _Rank, at: float, seconds: int, *, step: int) -> _Rank:
    rank.beats(at, "step", step=step, count=10 * step)
    for passed in range(seconds):
        rank.beats(at + 1 + passed, "checkpoint", step=step, count=10 * step + 1, age_s=passed + 0.5)
    return rank.beats(at + 1 + seconds, "step", step=step + 1, count=10 * step + 5, age_s=0.5)


def test_a_save_lasts_from_its_first_beat_to_the_next_step() -> None:
    """By the ages of the beats, not by when they were read."""
    assert _save(_Rank(), 10.0, 4, step=1).saves == [pytest.approx(4.0)]


def test_only_a_longer_one_is_news() -> None:
    """A run saves a thousand times."""
    rank = _save(_Rank(), 10.0, 4, step=1)
    _save(rank, 30.0, 2, step=2)
    assert len(rank.saves) == 1
    _save(rank, 40.0, 9, step=3)
    assert rank.saves == [pytest.approx(4.0), pytest.approx(9.0)]


def test_two_saves_are_not_one() -> None:
    """The step between was too short to be read."""
    rank = _Rank().beats(10.0, "checkpoint", step=1, count=1).beats(11.0, "checkpoint", step=2, count=5)
    assert rank.beats(12.0, "step", step=3, count=9).saves == [pytest.approx(1.0)]


@pytest.mark.parametrize(("at", "pid"), [(60.0, 1), (12.0, 2)], ids=["nobody looked", "another process"])
def test_an_end_that_nobody_saw_tells_nothing(at: float, pid: int) -> None:
    """The broker was away, or the rank was started again."""
    rank = _Rank().beats(10.0, "checkpoint", step=1, count=1).beats(11.0, "checkpoint", step=1, count=1, age_s=1.0)
    assert rank.beats(at, "step", step=2, count=2, pid=pid).saves == []
