"""Ranks that live and stand still: never told of a healthy run, and soon of one that hangs."""

import random
from dataclasses import dataclass, field, replace
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.core import standstill
from supervisor.core.hang import Habits, Limits, Sign, hung_for, looked, told

_LIMITS = Limits()
_QUARTER = 0.25


@dataclass
class Trace:
    """Ranks in step with each other, as the supervisor sees them: each is read once a second."""

    ranks: int = 4
    tells: bool = True
    limits: Limits = _LIMITS
    now: float = 0.0
    habits: Habits = field(default_factory=Habits)
    signs: dict[int, Sign] = field(default_factory=dict)
    pages: dict[int, tuple[int, str, int, float]] = field(default_factory=dict)
    """Step, phase, count and when it changed."""
    intervals: dict[int, tuple[float, ...]] = field(default_factory=dict)
    state: dict[int, str] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)
    """Ranks whose node is not heard."""
    awake_since: float = float("-inf")
    is_ending: bool = False
    alarms: list[float] = field(default_factory=list)

    def beat(self, rank: int, step: int, phase: str = "step") -> None:
        """A rank's page changes."""
        _, _, count, _ = self.pages.get(rank, (0, "", 0, 0.0))
        self.pages[rank] = (step, phase, count + 1, self.now)

    def all_beat(self, step: int, phase: str = "step") -> None:
        """All of them."""
        for rank in range(self.ranks):
            self.beat(rank, step, phase)

    def wait(self, seconds: float) -> None:
        """Time passes, looked at four times a second."""
        end = self.now + seconds
        while self.now < end - 1e-9:
            tick = (self.now // _QUARTER + 1) * _QUARTER
            self.now = min(tick, end)
            if self.now == tick:
                self._look(int(self.now / _QUARTER))

    def steps(self, first: int, last: int, seconds: float, *, noise: float = 0.0, seed: int = 1) -> None:
        """Synchronous steps; the slowest rank of each makes it as long as it is."""
        chance = random.Random(seed)  # noqa: S311 - a trace, no secret
        for step in range(first, last):
            self.wait(seconds * (1 + noise * chance.uniform(-1, 1)))
            self.all_beat(step)

    def _look(self, quarter: int) -> None:
        for rank, (step, phase, count, changed_at) in self.pages.items():
            if quarter % 4 == rank % 4 and rank not in self.silent:
                self._read(rank, step, phase, count, changed_at)
        if not self.signs:
            return
        signs = [replace(sign, state=self.state.get(rank, "S")) for rank, sign in self.signs.items()]
        self.habits = looked(self.habits, signs, awake_since=self.awake_since)
        found = hung_for(self.habits, signs, awake_since=self.awake_since, is_ending=self.is_ending, limits=self.limits)
        if found is not None and not self.habits.is_told:
            self.habits = told(self.habits, signs)
            self.alarms.append(self.now)

    def _read(self, rank: int, step: int, phase: str, count: int, changed_at: float) -> None:
        known = self.signs.get(rank)
        has_moved = known is None or known.count != count
        # The agent's page reading, once a second, tells a change when it is seen.
        moved_at = max(changed_at, self.now - 0.5) if has_moved or known is None else known.moved_at
        if known is not None and standstill.is_at_work(phase):
            noted = self.intervals.get(rank, ())
            seconds, beats = moved_at - known.moved_at, count - known.count
            self.intervals[rank] = standstill.noted(noted, since=known.phase, seconds=seconds, beats=beats)
        usual = self.intervals.get(rank)
        tells = self.tells and ((known is not None and known.tells) or phase == "checkpoint" or count > 10)
        self.signs[rank] = Sign(
            step=step, phase=phase, count=count, moved_at=moved_at, seen_at=self.now,
            usual_s=median(usual) if usual else None, tells=tells,
        )  # fmt: skip


def _warm(seconds: float = 1.0, **changes: object) -> Trace:
    """Thirty steps have been made."""
    trace = Trace(**changes)  # type: ignore[arg-type]  # fields of Trace
    trace.all_beat(0, "setup")
    trace.wait(5)
    trace.steps(1, 31, seconds)
    return trace


@settings(max_examples=6, deadline=None)
@given(st.floats(0.3, 20.0), st.integers(1, 9), st.integers(0, 999))
def test_a_stop_of_any_rank_is_noticed_within_the_bar(step_s: float, ranks: int, seed: int) -> None:
    """One rank stops, all others wait for it: max(10 s, 5 x usual step), with 20% noise."""
    trace = Trace(ranks=ranks + 1)
    trace.all_beat(0, "setup")
    trace.steps(1, 31, step_s, noise=0.2, seed=seed)
    trace.state[seed % ranks] = "T"
    stopped_at = trace.now
    trace.wait(8 * step_s + 20)
    assert len(trace.alarms) == 1
    assert trace.alarms[0] - stopped_at <= max(10.0, 5 * 1.2 * step_s)


@settings(max_examples=3, deadline=None)
@given(st.floats(0.5, 5.0), st.floats(1.0, 120.0), st.floats(1.0, 250.0), st.floats(60.0, 1700.0), st.integers(0, 999))
def test_thirty_healthy_minutes_give_no_alarm(
    step_s: float, save_s: float, eval_s: float, compile_s: float, seed: int
) -> None:
    """A long compilation, then saves by one rank, evaluations by all, and 20% noise in each step."""
    trace = Trace()
    trace.all_beat(0, "setup")
    trace.wait(compile_s)
    trace.all_beat(0)
    trace.wait(compile_s)  # the first step compiles, too
    step, end = 1, trace.now + 1800
    while trace.now < end:
        trace.steps(step, step + 40, step_s, noise=0.2, seed=seed + step)
        step += 40
        trace.beat(0, step, "checkpoint")
        trace.wait(save_s)
        trace.beat(0, step)
        if step % 80 == 1:
            trace.all_beat(step, "eval")
            trace.wait(eval_s)
            trace.all_beat(step)
    assert trace.alarms == []


def test_a_pause_that_came_before_is_no_hang() -> None:
    """Seven seconds once: thirteen are none, sixteen are."""
    trace = _warm()
    trace.wait(7)
    trace.steps(31, 34, 1.0)
    trace.wait(12)
    assert trace.alarms == []
    trace.wait(6)
    assert len(trace.alarms) == 1


@pytest.mark.parametrize("phase", ["checkpoint", "eval", "data"])
def test_the_first_of_its_kind_has_the_time_of_a_first_step(phase: str) -> None:
    """Afterwards it has five minutes, or five times its longest."""
    trace = _warm(limits=Limits(first_step_s=120.0))
    trace.beat(0, 31, phase)
    trace.wait(100)
    trace.all_beat(31)
    trace.wait(2)
    trace.beat(0, 32, phase)
    trace.wait(490)
    assert trace.alarms == []
    trace.wait(20)
    assert len(trace.alarms) == 1


def test_a_save_that_hangs_is_noticed_once_saves_are_known() -> None:
    """A save of three seconds, then one without end."""
    trace = _warm()
    trace.beat(0, 31, "checkpoint")
    trace.wait(3)
    trace.all_beat(31)
    trace.steps(32, 40, 1.0)
    trace.beat(0, 40, "checkpoint")
    trace.wait(290)
    assert trace.alarms == []
    trace.wait(15)
    assert len(trace.alarms) == 1


def test_ranks_that_only_tell_of_steps_have_ten_minutes() -> None:
    """They may save or evaluate without a word."""
    trace = _warm(tells=False)
    trace.wait(590)
    assert trace.alarms == []
    trace.wait(15)
    assert len(trace.alarms) == 1


def test_some_that_move_are_no_hang() -> None:
    """Ranks that run apart from each other, one of which stands still."""
    trace = _warm()
    for step in range(31, 100):
        trace.wait(1)
        for rank in range(1, trace.ranks):
            trace.beat(rank, step)
    assert trace.alarms == []


def test_who_is_not_seen_is_not_missed() -> None:
    """The node's agent, or the broker, is away: nobody knows whether its ranks move."""
    trace = _warm()
    trace.wait(2)
    trace.silent = {0, 1, 2, 3}
    trace.wait(300)
    trace.silent = {2}
    trace.wait(300)
    assert trace.alarms == []
    trace.silent = set()
    trace.wait(2)
    assert len(trace.alarms) == 1


def test_a_supervisor_that_slept_counts_from_when_it_woke() -> None:
    """And the pause is no habit."""
    trace = _warm()
    trace.wait(2)
    trace.now += 3600
    trace.awake_since = trace.now
    trace.wait(5)
    assert trace.alarms == []
    trace.steps(31, 40, 1.0)
    trace.wait(12)
    assert len(trace.alarms) == 1


@pytest.mark.parametrize(("state", "ranks"), [("T", 4), ("t", 1)])
def test_ranks_that_somebody_has_stopped_do_not_hang(state: str, ranks: int) -> None:
    """All of them are stopped, or one is under a debugger."""
    trace = _warm()
    trace.state = dict.fromkeys(range(ranks), state)
    trace.wait(300)
    assert trace.alarms == []


def test_the_last_ranks_may_work_on_when_one_has_ended() -> None:
    """Rank 0 writes the model when the others are through."""
    trace = _warm()
    trace.is_ending = True
    trace.wait(1700)
    assert trace.alarms == []


def test_a_standstill_at_the_same_step_again_has_the_time_of_a_first_step() -> None:
    """Else work that nobody tells of would be cut off each time."""
    before = _warm()
    before.wait(15)
    assert len(before.alarms) == 1
    trace = Trace(habits=Habits(hung_step=before.habits.hung_step))
    trace.all_beat(0, "setup")
    trace.steps(1, 31, 1.0)
    trace.wait(600)
    assert trace.alarms == []
    trace.steps(31, 40, 1.0)
    trace.wait(1300)  # twice the longest pause, which is known now
    assert len(trace.alarms) == 1


def test_switched_off() -> None:
    """`hang_s` 0."""
    trace = _warm(limits=Limits(hang_s=0.0))
    trace.wait(4000)
    assert trace.alarms == []


def test_a_hang_is_told_once_and_another_one_again() -> None:
    """In mode observe the attempt goes on; where it hung is behind it, and how long that took is known."""
    trace = _warm()
    trace.wait(60)
    assert len(trace.alarms) == 1
    trace.steps(31, 40, 1.0)
    trace.wait(110)
    assert len(trace.alarms) == 1
    trace.wait(20)
    assert len(trace.alarms) == 2
