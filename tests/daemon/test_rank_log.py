"""Labelled lines: what is kept, what they mean, what an incident gets."""

import pytest

from supervisor.core.events import LineSeen, RankFailed
from supervisor.daemon.rank_log import RankLog
from supervisor.model.ids import AttemptNo, Rank

_STEP = "17.0"


@pytest.fixture
def log() -> RankLog:
    """Attempt 1 with one step of four tasks."""
    made = RankLog()
    made.begin(AttemptNo(1))
    made.add_step(_STEP, 4)
    return made


def _write(log: RankLog, *lines: str, ranks: int = 0, step: str = _STEP) -> None:
    for line in lines:
        log.line(step, line, ranks=ranks, now=5.0)


def _names(log: RankLog, *failing: int, ranks: int = 0) -> list[str]:
    return [one.name for one in log.logs([Rank(rank) for rank in failing], ranks=ranks)]


def test_each_rank_has_its_own_lines(log: RankLog) -> None:
    """Lines go by their label, without it; colons and numbers of the line itself do not matter."""
    _write(log, "0: one", "3: two: 7: eight", " 0: three", "no label")
    first, last = log.logs([], ranks=4)
    assert (first.name, first.rank, first.lines) == ("ranks/0.log", 0, ("one", "three"))
    assert (last.name, last.rank, last.lines, last.kind) == ("ranks/3.log", 3, ("two: 7: eight",), "ranks")


def test_only_the_end_is_kept(log: RankLog) -> None:
    """200 lines, and 64 KiB, of each rank."""
    _write(log, *(f"0: line {number}" for number in range(300)))
    _write(log, *(f"1: {'x' * 1000}{number}" for number in range(150)))
    few, long = log.logs([], ranks=0)
    assert (len(few.lines), few.lines[-1]) == (200, "line 299")
    assert sum(map(len, long.lines)) <= 64 * 1024
    assert long.lines[-1].endswith("149")


def test_ranks_beyond_the_bound_are_not_kept(log: RankLog) -> None:
    """No more than 4096 tasks are held, and an incident gets 64 that have not failed."""
    _write(log, *(f"{rank}: hello" for rank in range(5000)))
    assert _names(log) == [f"ranks/{rank}.log" for rank in range(64)]
    assert _names(log, 4095)[0] == "ranks/4095.log"
    assert "ranks/4096.log" not in _names(log, 4096)


def test_a_root_line_is_seen_with_its_rank_first(log: RankLog) -> None:
    """A rank that shows why comes before one of which only its end is known, and before all others."""
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    _write(log, "0: fine", "1: fine", f"2: {oom}", "3: fine")
    (seen,) = log.events()
    assert isinstance(seen, LineSeen)
    assert seen.text == oom
    assert _names(log, 1) == ["ranks/2.log", "ranks/1.log", "ranks/0.log", "ranks/3.log"]


def test_sattachs_word_of_an_exit_is_a_failed_rank_once(log: RankLog) -> None:
    """Its slurmstepd tries again and again: one event for each rank."""
    _write(
        log, *["sattach: error: task 3 exited with exit code 7"] * 3, "sattach: error: task 1 exited with exit code 1"
    )
    failed = log.events()
    assert [(event.rank, event.code) for event in failed if isinstance(event, RankFailed)] == [(3, 7), (1, 1)]
    assert log.events() == []


def test_a_rank_that_prints_sattachs_words_has_not_exited(log: RankLog) -> None:
    """What a task writes has a label in front."""
    _write(log, "0: sattach: error: task 3 exited with exit code 7")
    assert not any(isinstance(event, RankFailed) and event.rank == 3 for event in log.events())


def test_tasks_that_start_several_ranks_blame_nobody(log: RankLog) -> None:
    """More ranks than tasks are known by their beats: a task's number is no rank, what the line itself says is."""
    _write(log, "1: from some rank", "1: srun: error: n1: task 11: Segmentation fault", ranks=32)
    _write(log, "sattach: error: task 1 exited with exit code 1", ranks=32)
    (only,) = log.logs([], ranks=32)
    assert (only.name, only.rank) == ("ranks/task1.log", None)
    assert [event.rank for event in log.events() if isinstance(event, RankFailed)] == [11, None]


def test_a_new_attempt_forgets(log: RankLog) -> None:
    """Lines of the one before that come late count for nothing."""
    _write(log, "0: old")
    log.begin(AttemptNo(2))
    _write(log, "0: late", "sattach: error: task 3 exited with exit code 7")
    assert log.logs([], ranks=0) == ()
    assert log.events() == []


def test_the_later_step_counts(log: RankLog) -> None:
    """A script that prepares data in one step and trains in the next: rank 0 is that of the second."""
    _write(log, "0: preparing")
    log.add_step("17.1", 4)
    _write(log, "0: training", step="17.1")
    assert [one.lines for one in log.logs([], ranks=0)] == [("training",)]
