"""Time for decisions never steps back, whatever is done to the clock."""

import time

import pytest

from supervisor.daemon.clock import steady_clock


def test_a_step_of_the_wall_clock_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither back nor ahead: deadlines are counted by the clock that nobody sets."""
    clock = steady_clock()
    before = clock()
    for step in (-3600.0, 3600.0):
        monkeypatch.setattr(time, "time", lambda step=step: before + step)
        assert 0 <= clock() - before < 60


def test_a_run_goes_on_no_earlier_than_its_log_ends() -> None:
    """A supervisor on a node whose clock is behind that of the node before."""
    ahead = time.time() + 3600
    assert 0 <= steady_clock(after=ahead)() - ahead < 60
    assert abs(steady_clock(after=5.0)() - time.time()) < 60
