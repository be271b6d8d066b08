"""Steps with and without us."""

import json
from pathlib import Path

import pytest

from supervisor.drill.pace import WARM_UP, compare
from supervisor.drill.pace_job import _steps, script
from supervisor.drill.record import Paces
from supervisor.drill.suite import Pace

WANTED = Pace(rounds=3, most_ratio=1.05)


def _round(step_s: float) -> tuple[float, ...]:
    return (9.0,) * WARM_UP + (step_s,) * 20


def test_rounds_are_compared_with_their_neighbours() -> None:
    """A machine that grows slower from round to round makes no ratio of its own; the warm-up does not count."""
    paces = Paces(plain=tuple(map(_round, (0.010, 0.020, 0.040))), ours=tuple(map(_round, (0.0101, 0.0202, 0.0404))))
    found = compare(paces, WANTED)
    assert found.ratio == pytest.approx(1.01)
    assert found.low == pytest.approx(1.01)
    assert found.high == pytest.approx(1.01)
    assert (found.plain_s, found.rounds, found.wrong) == (0.020, 3, "")


def test_only_what_is_surely_too_much_is_wrong() -> None:
    """The interval's lower end counts: noise is no finding."""
    plain = (_round(0.010),) * 3
    sure = compare(Paces(plain=plain, ours=tuple(map(_round, (0.0121, 0.0120, 0.0122)))), WANTED)
    assert "at least 1.1" in sure.wrong
    noisy = compare(Paces(plain=plain, ours=tuple(map(_round, (0.009, 0.014, 0.012)))), WANTED)
    assert noisy.ratio is not None
    assert noisy.ratio > WANTED.most_ratio
    assert noisy.wrong == ""


def test_one_round_has_no_interval() -> None:
    """It is judged by its ratio alone."""
    found = compare(Paces(plain=(_round(0.010),), ours=(_round(0.012),)), WANTED)
    assert (found.low, found.high) == (None, None)
    assert found.wrong


def test_no_round_is_no_good_news() -> None:
    """What was not measured blocks, with the reason."""
    assert "no node is free" in compare(Paces(problem="no node is free"), WANTED).wrong
    assert compare(Paces(plain=((),), ours=(_round(1.0),)), WANTED).wrong


def test_rounds_alternate() -> None:
    """Who goes first changes; only ours is supervised."""
    lines = script(Path("/d/train"), Path("/d/pace"), 2).splitlines()
    assert [("run --" in line) for line in lines[1:]] == [False, True, True, False]
    assert all("/d/train/trainer.py" in line for line in lines[1:])


def test_a_round_without_its_file_is_empty(tmp_path: Path) -> None:
    """It was cut off; the others count."""
    assert _steps(tmp_path / "none.json") == ()
    (tmp_path / "one.json").write_text(json.dumps([0.1, 0.2]))
    assert _steps(tmp_path / "one.json") == (0.1, 0.2)
