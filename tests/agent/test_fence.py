"""When an agent kills its ranks by itself: pure, with time given."""

import pytest

from supervisor.agent.fence import Watch, is_cut_off, look, pause_s, question_s

LEASE = 30.0


def _after(looks: list[tuple[float, bool]], *, lease_s: float = LEASE, is_batch_host: bool = False) -> list[float]:
    """Times of the looks at which the ranks would have to go."""
    watch, due = Watch(silent_since=0.0, looked_at=0.0), []
    for now, is_any_sign in looks:
        watch = look(watch, now=now, is_any_sign=is_any_sign, lease_s=lease_s)
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
