"""A checkpoint that an attempt could not begin with is passed over, however whole it looks."""

from pathlib import Path

from supervisor.checkpoint.find import find_newest
from tests.checkpoint import makers as make


def _saved(folder: Path, step: int) -> Path:
    return make.npz(folder / f"step-{step}.npz")


def test_the_one_before_is_chosen(tmp_path: Path) -> None:
    """And it is told which was passed over and why."""
    older, newer = _saved(tmp_path, 100), _saved(tmp_path, 200)
    choice = find_newest(str(tmp_path), deadline_s=5, known_step=200, avoid=(str(newer),))
    assert choice.is_trustworthy
    assert choice.chosen is not None
    assert choice.chosen.path == str(older)
    assert [(one.step, one.why) for one in choice.passed_over] == [(200, "an attempt could not begin with it")]


def test_none_is_left(tmp_path: Path) -> None:
    """Never from the beginning unasked: the answer names what is wrong."""
    only = _saved(tmp_path, 100)
    choice = find_newest(str(tmp_path), deadline_s=5, known_step=100, avoid=(str(only),))
    assert choice.chosen is None
    assert "could not begin with it" in choice.why
