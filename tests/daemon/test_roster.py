"""What the roster makes of beats and of silence."""

import pytest

from supervisor.core.events import AgentSilent, AgentUp, Progressed, RanksSeen, Stalled
from supervisor.daemon.roster import Roster
from supervisor.model.ids import AttemptNo, NodeName, Rank
from supervisor.model.wire import Beats, RankBeat, Status

_N1, _N2 = NodeName("n1"), NodeName("n2")
_FIRST = AttemptNo(1)


@pytest.fixture
def roster() -> Roster:
    """Two nodes expected since second 0, attempt 1 running."""
    made = Roster(silence_s=2.0, expected_s=20.0)
    made.expect([_N1, _N2], 0.0)
    made.begin(_FIRST)
    return made


def _beat(rank: int, *, step: int = 0, count: int = 0, phase: str = "step", is_alive: bool = True) -> RankBeat:
    return RankBeat(rank=Rank(rank), pid=100 + rank, step=step, phase=phase, count=count, age_s=0.0, is_alive=is_alive)


def _beats(node: NodeName, *ranks: RankBeat, attempt: AttemptNo = _FIRST) -> Beats:
    return Beats(node=node, at=0.0, attempt=attempt, processes=len(ranks), ranks=ranks)


def test_a_first_sign_makes_a_node_up_once(roster: Roster) -> None:
    """A node is reported up at its first sign of life, and not again while it goes on."""
    assert [type(event) for event in roster.beats(_beats(_N1), 1.0)] == [AgentUp]
    assert roster.beats(_beats(_N1), 2.0) == []


def test_silence_is_told_once_and_its_end_too(roster: Roster) -> None:
    """A node that falls silent is told once, with when it was heard last; heard again it is up again."""
    roster.beats(_beats(_N1), 1.0)
    assert roster.tick(2.9, stall_s=5) == []
    (silent,) = roster.tick(3.1, stall_s=5)
    assert isinstance(silent, AgentSilent)
    assert (silent.node, silent.how, silent.last_heard) == (_N1, "silent", 1.0)
    assert roster.tick(4.0, stall_s=5) == []
    assert [type(event) for event in roster.beats(_beats(_N1), 5.0)] == [AgentUp]


def test_a_node_that_never_reports_is_told_after_its_time(roster: Roster) -> None:
    """A node has `expected_s` for its first report."""
    assert roster.tick(19.0, stall_s=5) == []
    assert {(event.node, event.how) for event in roster.tick(21.0, stall_s=5) if isinstance(event, AgentSilent)} == {
        (_N1, "never_heard"),
        (_N2, "never_heard"),
    }


def test_a_last_will_is_silence_at_once(roster: Roster) -> None:
    """The broker's word that an agent is gone need not wait for the silence."""
    roster.status(Status(node=_N1, state="up"), 1.0)
    (gone,) = roster.status(Status(node=_N1, state="down"), 1.5)
    assert isinstance(gone, AgentSilent)
    assert gone.how == "last_will"
    assert roster.up() == ()


def test_progress_is_the_slowest_rank(roster: Roster) -> None:
    """The run is as far as its slowest rank; ranks that set up do not count."""
    roster.beats(_beats(_N1, _beat(0, step=7, count=1)), 1.0)
    events = roster.beats(_beats(_N2, _beat(1, step=5, count=1), _beat(2, phase="setup")), 1.0)
    assert [event.step for event in events if isinstance(event, Progressed)] == [5]
    assert roster.progress == 5


def test_ranks_are_seen_node_by_node(roster: Roster) -> None:
    """First processes of the attempt on a node are told once."""
    first = roster.beats(_beats(_N1, _beat(0)), 1.0)
    assert [event.nodes for event in first if isinstance(event, RanksSeen)] == [(_N1,)]
    assert not any(isinstance(event, RanksSeen) for event in roster.beats(_beats(_N1, _beat(0)), 2.0))


def test_beats_of_an_older_attempt_say_nothing_about_this_one(roster: Roster) -> None:
    """All state is keyed by attempt: a late beat of the one before is a sign of the node alone."""
    events = roster.beats(_beats(_N1, _beat(0, step=99, count=1), attempt=AttemptNo(9)), 1.0)
    assert [type(event) for event in events] == [AgentUp]


def test_a_stall_needs_a_failed_rank_and_living_ones_that_stand_still(roster: Roster) -> None:
    """Standing still alone is no stall (a save may take minutes); after a failed rank it is one, told once."""
    roster.beats(_beats(_N1, _beat(0, step=1, count=1), _beat(1, step=1, count=1)), 1.0)
    assert not any(isinstance(event, Stalled) for event in roster.tick(1.9, stall_s=0.5))
    roster.rank_failed(2.0)
    assert not any(isinstance(event, Stalled) for event in roster.tick(2.45, stall_s=0.5))
    roster.beats(_beats(_N1, _beat(0, step=2, count=2), _beat(1, is_alive=False, step=1, count=1)), 3.0)
    assert not any(isinstance(event, Stalled) for event in roster.tick(3.4, stall_s=0.5))
    assert sum(isinstance(event, Stalled) for event in roster.tick(3.6, stall_s=0.5)) == 1
    assert not any(isinstance(event, Stalled) for event in roster.tick(3.7, stall_s=0.5))


def test_no_rank_left_is_no_stall(roster: Roster) -> None:
    """When every rank has ended, the script decides what follows."""
    roster.beats(_beats(_N1, _beat(0, is_alive=False, count=1)), 1.0)
    roster.rank_failed(1.0)
    assert not any(isinstance(event, Stalled) for event in roster.tick(100.0, stall_s=0.5))


def test_a_node_that_left_is_forgotten(roster: Roster) -> None:
    """Whoever is no longer expected can neither be up nor fall silent."""
    roster.beats(_beats(_N1), 1.0)
    roster.expect([_N2], 2.0)
    assert roster.beats(_beats(_N1), 3.0) == []
    assert all(event.node != _N1 for event in roster.tick(9.0, stall_s=5) if isinstance(event, AgentSilent))


def test_a_check_that_was_allowed_to_fail_breaks_nothing(roster: Roster) -> None:
    """A task failed in a step before; the rank of that number lives, and takes its time with the first step."""
    roster.rank_failed(1.0, rank=Rank(0), node=_N1)
    for second in range(5, 60):
        roster.beats(_beats(_N1, _beat(0, phase="setup")), float(second))
        assert not [event for event in roster.tick(float(second), stall_s=5.0) if isinstance(event, Stalled)]


def test_a_launchers_failed_check_breaks_nothing(roster: Roster) -> None:
    """A task's number is no rank's where a launcher starts several ranks in each: told by the node."""
    roster.rank_failed(1.0, rank=Rank(1), node=_N2)
    for second in range(5, 30):
        roster.beats(_beats(_N1, _beat(0, phase="setup"), _beat(1, phase="setup")), float(second))
        assert not [event for event in roster.tick(float(second), stall_s=5.0) if isinstance(event, Stalled)]


def test_a_failure_after_which_all_go_on_is_forgotten(roster: Roster) -> None:
    """Where the slowest of all ranks moves for seconds, none is dead: a long checkpoint later is no standstill."""
    roster.beats(_beats(_N1, _beat(0, step=1, count=1)), 1.0)
    roster.rank_failed(2.0)
    for second in range(3, 10):
        roster.beats(_beats(_N1, _beat(0, step=second, count=second)), float(second))
    for second in range(10, 40):
        roster.beats(_beats(_N1, _beat(0, step=9, count=9, phase="checkpoint")), float(second))
        assert not [event for event in roster.tick(float(second), stall_s=5.0) if isinstance(event, Stalled)]


@pytest.mark.parametrize("is_known", [True, False])
def test_ranks_that_wait_for_one_that_crashed_at_its_start_stand_still(roster: Roster, *, is_known: bool) -> None:
    """The failed rank never beat, or its process is seen to be gone: the others wait for nothing."""
    roster.rank_failed(1.0, rank=Rank(3), node=_N1)
    gone = (_beat(3, phase="setup", is_alive=False),) if is_known else ()
    told = []
    for second in range(2, 12):
        roster.beats(_beats(_N1, _beat(0, phase="setup"), *gone), float(second))
        told += [event for event in roster.tick(float(second), stall_s=5.0) if isinstance(event, Stalled)]
    assert len(told) == 1


def test_a_supervisor_that_slept_holds_nobody_silent(roster: Roster) -> None:
    """After a pause of its own, what was said meanwhile is read before silence is judged."""
    roster.beats(_beats(_N1), 1.0)
    roster.tick(1.1, stall_s=5)
    assert roster.tick(9.0, stall_s=5) == []
    roster.beats(_beats(_N1), 9.1)
    assert roster.tick(9.2, stall_s=5) == []
    silent = [event for now in (10.0, 11.0, 11.5) for event in roster.tick(now, stall_s=5)]
    assert [type(event) for event in silent] == [AgentSilent]
