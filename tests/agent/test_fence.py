"""When an agent kills its ranks by itself: pure, with time given."""

import itertools

import pytest

from supervisor.agent.fence import Watch, is_cut_off, is_due, look, pace_s, pause_s, question_s, quiet_s

LEASE = 30.0


def _after(looks: list[tuple[float, bool]], *, lease_s: float = LEASE, is_batch_host: bool = False) -> list[float]:
    """Times of the looks at which the ranks would have to go."""
    watch, due = Watch(silent_since=0.0, looked_at=0.0), []
    for now, is_any_sign in looks:
        watch = look(watch, now=now, sign_at=now if is_any_sign else None, lease_s=lease_s)
        if is_cut_off(watch, lease_s=lease_s, is_batch_host=is_batch_host):
            due.append(now)
    return due


def _every(step: float, until: float) -> list[float]:
    return [step * number for number in range(1, int(until / step) + 1)]


def test_silence_for_the_whole_lease_ends_the_ranks() -> None:
    """Not before the lease is over, and at the first look then."""
    assert _after([(now, False) for now in _every(5.0, 40.0)]) == [30.0, 35.0, 40.0]


@pytest.mark.parametrize("at", [5.0, 25.0])
def test_one_sign_begins_the_lease_anew(at: float) -> None:
    """Any sign at any time counts in full."""
    due = _after([(now, now == at) for now in _every(5.0, 60.0)])
    assert due[0] == at + LEASE


def test_the_batch_host_never_fences() -> None:
    """What it cannot hear there is on its own machine."""
    assert _after([(now, False) for now in _every(5.0, 300.0)], is_batch_host=True) == []


def test_a_node_that_slept_has_heard_nobody() -> None:
    """A suspended machine wakes with an old clock: its lease begins when it looks again."""
    looks = [(now, False) for now in (5.0, 10.0, 500.0, 505.0, 510.0, 515.0, 520.0, 525.0, 530.0)]
    assert _after(looks) == [530.0]


@pytest.mark.parametrize("lease_s", [3.0, 30.0, 300.0])
def test_looking_slowly_is_not_sleeping(lease_s: float) -> None:
    """A pause and two questions that run into their deadline stay below what counts as having slept."""
    slowest = pause_s(lease_s=lease_s) + 2 * question_s(lease_s=lease_s)
    assert _after([(now, False) for now in _every(slowest, 3 * lease_s)], lease_s=lease_s)


def _asked(lease_s: float, until: float) -> list[float]:
    """When a node that hears nobody from 0 on asks term file and slurmd."""
    watch, asked_at, asked = Watch(silent_since=0.0, looked_at=0.0), -100.0, []
    for now in _every(pace_s(lease_s=lease_s), until):
        if is_due(watch, now=now, asked_at=asked_at, lease_s=lease_s, leases=2):
            asked_at = now
            asked.append(now)
    return asked


def test_an_early_word_of_the_bus_counts_from_its_own_time() -> None:
    """The lease runs from the moment that somebody was heard, not from the look that noticed."""
    watch = look(Watch(silent_since=0.0, looked_at=8.0), now=9.0, sign_at=7.5, lease_s=LEASE)
    assert watch.silent_since == 7.5
    assert look(watch, now=10.0, sign_at=7.5, lease_s=LEASE).silent_since == 7.5


def test_questions_come_soon_then_rarely_then_at_each_lease() -> None:
    """The first tells the term of now; fencing and voting must not wait for a pause to end."""
    asked = _asked(LEASE, 66.0)
    assert asked[0] == 3.5
    assert {30.0, 60.0} <= set(asked)
    assert asked[-3:] == [62.0, 64.0, 66.0]
    assert max(later - earlier for earlier, later in itertools.pairwise(asked)) <= pause_s(lease_s=LEASE)


def test_while_the_bus_is_heard_nothing_is_asked() -> None:
    """A healthy run costs the shared filesystem nothing."""
    watch = Watch(silent_since=100.0, looked_at=103.0)
    assert not is_due(watch, now=103.0, asked_at=0.0, lease_s=LEASE, leases=2)
    assert is_due(watch, now=100.1 + quiet_s(lease_s=LEASE), asked_at=0.0, lease_s=LEASE, leases=2)
