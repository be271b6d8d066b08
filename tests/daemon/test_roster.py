"""What the roster makes of beats and of silence."""

import msgspec
import pytest

from supervisor.core.events import AgentSilent, AgentUp, Event, Hung, Progressed, RankFailed, RanksSeen, Stalled
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
    assert roster.furthest == 7


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


def _second(roster: Roster, now: float, *ranks: RankBeat) -> None:
    """Both nodes say their second: ranks 0 and 1 on n1, 2 and 3 on n2."""
    for node, there in ((_N1, ranks[:2]), (_N2, ranks[2:])):
        roster.beats(_beats(node, *there), now)


def _four(step: int, *, phase: str = "step", dead: tuple[int, ...] = ()) -> list[RankBeat]:
    """All ranks at this step; rank 0 in this phase."""
    return [
        _beat(rank, step=step, count=step, phase="step" if rank else phase, is_alive=rank not in dead)
        for rank in range(4)
    ]


def _stalled_after(
    roster: Roster,
    *,
    phase: str = "step",
    dead: tuple[int, ...] = (3,),
    stall_s: float = 5.0,
    steps_a_second: int = 10,
    rank: int = 3,
    node: NodeName | None = _N2,
    is_asked: bool = True,
) -> float:
    """A task fails after five seconds of steps and nobody moves: how long that takes to count as broken.

    Beats come once a second, and at once when they are asked for.
    """
    for second in range(1, 6):
        _second(roster, float(second), *_four(steps_a_second * second))
    roster.rank_failed(5.25, rank=Rank(rank), node=node)
    for quarter in range(22, 60):
        now = quarter / 4
        if now.is_integer() or (is_asked and roster.wants_beats(now, stall_s=stall_s)):
            _second(roster, now, *_four(5 * steps_a_second + 1, phase=phase, dead=dead))
        if any(isinstance(event, Stalled) for event in roster.tick(now, stall_s=stall_s)):
            return now - 5.5
    raise AssertionError("nobody was missed")


def test_the_death_of_a_rank_of_fast_steps_is_believed_after_a_second(roster: Roster) -> None:
    """Ten steps a second are known: nobody who stands still for one does so by chance."""
    assert _stalled_after(roster) == 1.0


def test_slow_steps_have_three_times_their_usual_time(roster: Roster) -> None:
    """One step a second: three seconds."""
    assert _stalled_after(roster, steps_a_second=1) == 3.0


def test_a_standstill_of_a_second_must_have_been_seen(roster: Roster) -> None:
    """No beat came in the meantime, which is no standstill: the next one tells."""
    assert _stalled_after(roster, is_asked=False) == 1.5


def test_ranks_that_go_on_without_a_dead_one_have_the_full_time(roster: Roster) -> None:
    """Tasks that need not each other: one has died long ago, and the others pause for more than their usual time."""
    for second in range(1, 6):
        _second(roster, float(second), *_four(10 * second))
    roster.rank_failed(5.25, rank=Rank(3), node=_N2)
    told = []
    for second in range(6, 41):
        living = min(second, 30)
        ranks = [*_four(10 * living)[:3], _beat(3, step=50, count=50, is_alive=False)]
        _second(roster, float(second), *ranks)
        told += [(event, second) for event in roster.tick(second + 0.1, stall_s=5.0) if isinstance(event, Stalled)]
    assert [second for _, second in told] == [35]


@pytest.mark.parametrize("phase", ["checkpoint", "eval", "setup", "idle"])
def test_a_rank_that_saves_has_the_full_time(roster: Roster, phase: str) -> None:
    """It may be in the midst of something that takes its own time, whoever has died."""
    assert _stalled_after(roster, phase=phase) == 5.0


def test_a_helper_that_failed_while_all_ranks_live_has_the_full_time(roster: Roster) -> None:
    """A task of a step beside the training: no rank that beats has died."""
    assert _stalled_after(roster, dead=(), rank=7) == 5.0


def test_a_launchers_own_line_has_the_full_time(roster: Roster) -> None:
    """It names no node, and the launcher may start its workers again."""
    assert _stalled_after(roster, node=None) == 5.0


def test_a_rank_that_vanishes_without_a_word_has_the_full_time(roster: Roster) -> None:
    """No step had started it: a launcher of its own may start it again."""
    for second in range(1, 6):
        roster.beats(msgspec.structs.replace(_beats(_N2, *_four(10 * second)), processes=0), float(second))
    told: dict[type[Event], int] = {}
    for second in range(6, 20):
        gone = msgspec.structs.replace(_beats(_N2, *_four(51, dead=(3,))), processes=0)
        for event in [*roster.beats(gone, float(second)), *roster.tick(second + 0.1, stall_s=5.0)]:
            told.setdefault(type(event), second)
    assert told[Stalled] - told[RankFailed] == 5


def test_beats_are_asked_for_until_ranks_are_seen(roster: Roster) -> None:
    """How soon they run again is known at once and not at their node's turn; a script that stages data is let be."""
    assert [roster.wants_beats(second / 4, stall_s=5.0) for second in range(6)] == [True] * 4 + [False] * 2
    roster.begin(AttemptNo(2))
    assert roster.wants_beats(9.0, stall_s=5.0)
    roster.beats(_beats(_N1, _beat(0), attempt=AttemptNo(2)), 9.1)
    assert not roster.wants_beats(9.25, stall_s=5.0)


def test_the_users_limit_is_the_upper_bound(roster: Roster) -> None:
    """A `stall_s` of half a second is not made longer."""
    assert _stalled_after(roster, stall_s=0.5) == 0.5


def test_a_launcher_that_dies_with_all_its_ranks_counts_as_their_death(roster: Roster) -> None:
    """Srun's task numbers are not the ranks' there: told by the node, all of whose ranks are dead."""
    for second in range(1, 6):
        _second(roster, float(second), *_four(10 * second))
    roster.rank_failed(5.2, rank=Rank(1), node=_N2)
    for now in (5.25, 6.25):
        _second(roster, now, *_four(51, dead=(2, 3)))
    assert any(isinstance(event, Stalled) for event in roster.tick(6.3, stall_s=5.0))


def test_workers_that_are_started_again_begin_anew(roster: Roster) -> None:
    """A launcher restarts them: the dead rank beats again, from another process, and nothing is broken."""
    for second in range(1, 6):
        _second(roster, float(second), *_four(10 * second))
    roster.rank_failed(5.2, rank=Rank(3), node=_N2)
    _second(roster, 5.3, *_four(51, dead=(3,)))
    told = []
    for second in range(6, 60):
        fresh = [msgspec.structs.replace(beat, pid=beat.pid + 900) for beat in _four(second)]
        _second(roster, second - 0.2, *fresh)
        told += [event for event in roster.tick(float(second), stall_s=5.0) if isinstance(event, Stalled)]
    assert not told


def test_beats_are_asked_for_at_the_news_and_when_the_time_is_over(roster: Roster) -> None:
    """Not more often than needed: each question makes every node speak."""
    for second in range(1, 6):
        _second(roster, float(second), *_four(10 * second))
    assert not roster.wants_beats(5.1, stall_s=5.0)
    roster.rank_failed(5.2, rank=Rank(3), node=_N2)
    assert roster.wants_beats(5.2, stall_s=5.0)
    assert not roster.wants_beats(5.25, stall_s=5.0), "the answers are on their way"
    _second(roster, 5.3, *_four(51, dead=(3,)))
    assert not roster.wants_beats(5.8, stall_s=5.0)
    assert roster.wants_beats(6.3, stall_s=5.0)


def _vanish(roster: Roster, *, processes: int = 0, has_ended: bool = False) -> list[Event]:
    """Rank 1 is gone at second 10, and rank 0 waits for it from then on: all events of twenty seconds."""
    events: list[Event] = []
    for second in range(1, 30):
        step = min(second, 10)
        is_gone = second >= 10
        gone = msgspec.structs.replace(
            _beat(1, step=step, count=step, is_alive=not is_gone), has_ended=is_gone and has_ended
        )
        ranks = (_beat(0, step=step, count=step), gone)
        message = Beats(node=_N1, at=0.0, attempt=_FIRST, processes=processes, ranks=ranks)
        events += roster.beats(message, float(second))
        events += roster.tick(float(second) + 0.1, stall_s=5.0)
    return events


def test_a_rank_that_vanishes_without_a_word_has_failed(roster: Roster) -> None:
    """Nobody else tells of it where no srun waits for the ranks; how it ended stays unknown."""
    events = _vanish(roster)
    (failed,) = [event for event in events if isinstance(event, RankFailed)]
    assert (failed.rank, failed.node, failed.code, failed.signal) == (1, _N1, None, None)
    assert sum(isinstance(event, Stalled) for event in events) == 1


@pytest.mark.parametrize(("processes", "has_ended"), [(1, False), (0, True)])
def test_a_rank_that_may_have_ended_well_has_not_failed(roster: Roster, processes: int, *, has_ended: bool) -> None:
    """It said that it ends; or srun started it, and would have told of a failure: others may save for long."""
    events = _vanish(roster, processes=processes, has_ended=has_ended)
    assert not any(isinstance(event, RankFailed | Stalled) for event in events)


def test_a_rank_gone_before_we_looked_says_nothing(roster: Roster) -> None:
    """After a takeover: nobody knows any more whether a step had started it."""
    for second in range(1, 20):
        message = _beats(_N1, _beat(0, step=1, count=1), _beat(1, step=1, count=1, is_alive=False))
        events = [*roster.beats(message, float(second)), *roster.tick(second + 0.1, stall_s=5.0)]
        assert not any(isinstance(event, RankFailed | Stalled) for event in events)


def test_the_ranks_are_counted_once_all_have_told_of_themselves(roster: Roster) -> None:
    """The first sight of a node comes before its ranks have begun to beat: the full number is told when it stands."""
    roster.beats(Beats(node=_N1, at=0.0, attempt=_FIRST, processes=2), 1.0)
    roster.beats(_beats(_N1, _beat(0)), 2.0)
    told: list[Event] = []
    for second in range(3, 9):
        ranks = (_beat(0), _beat(1)) if second < 5 else (_beat(0), _beat(1), _beat(2))
        told += roster.beats(_beats(_N1, *ranks), float(second))
        told += roster.tick(second + 0.1, stall_s=5.0)
    seen = [event for event in told if isinstance(event, RanksSeen)]
    assert [(event.nodes, event.ranks) for event in seen] == [((_N1,), 3)]


def test_ranks_that_live_and_stand_still_hang(roster: Roster) -> None:
    """Ten steps a second, saves that are told of, then nothing: told once, and of the next attempt only what is new."""
    told: dict[int, list[Hung]] = {}
    for second in range(1, 60):
        ranks = [msgspec.structs.replace(rank, tells=True) for rank in _four(10 * min(second, 20))]
        _second(roster, float(second), *ranks)
        found = [event for event in roster.tick(second + 0.1, stall_s=5.0) if isinstance(event, Hung)]
        told |= {second: found} if found else {}
    assert list(told) == [28]
    assert told[28][0].silent_s == pytest.approx(8.1)
    roster.begin(AttemptNo(2))
    assert not [event for event in roster.tick(61.0, stall_s=5.0) if isinstance(event, Hung)]


def test_a_rank_that_died_is_no_hang(roster: Roster) -> None:
    """What is to be done about it is said by who failed, and the others may be at their last work."""
    for second in range(1, 60):
        ranks = _four(10 * min(second, 20), dead=(3,) if second > 20 else ())
        _second(roster, float(second), *(msgspec.structs.replace(rank, tells=True) for rank in ranks))
        assert not [event for event in roster.tick(second + 0.1, stall_s=5.0) if isinstance(event, Hung)]
