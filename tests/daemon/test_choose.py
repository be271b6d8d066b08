"""The search for a checkpoint, and the second look at one right before the launch."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from supervisor.checkpoint.find import find_newest
from supervisor.core.instructions import ChooseCheckpoint
from supervisor.daemon.hands.checkpoint import choose
from supervisor.daemon.world import World
from supervisor.model.facts import Checkpoint, Choice
from supervisor.model.ids import AttemptNo
from supervisor.settings import Settings
from tests.checkpoint import makers


async def _choice(folder: Path, *, again: Checkpoint | None) -> Choice:
    settings = Settings(checkpoint=str(folder), checkpoint_deadline_s=30.0)
    world = SimpleNamespace(settings=settings, clock=lambda: 5.0)
    order = ChooseCheckpoint(attempt=AttemptNo(2), known_step=1, again=again)
    return (await choose(cast("World", world), order)).choice


async def test_a_checkpoint_that_is_whole_still_is_kept(tmp_path: Path) -> None:
    """Only it is read: a listing of everything has been believed a moment ago."""
    makers.npz(tmp_path / "step-1.npz")
    known = find_newest(str(tmp_path), deadline_s=30).chosen
    makers.npz(tmp_path / "step-2.npz")
    choice = await _choice(tmp_path, again=known)
    assert choice.chosen is not None
    assert (choice.chosen.step, choice.chosen.verdict, choice.is_trustworthy) == (1, "whole", True)


async def test_another_one_takes_the_place_of_one_that_was_cut(tmp_path: Path) -> None:
    """What became of it is in `passed_over`."""
    makers.npz(tmp_path / "step-1.npz")
    path = makers.npz(tmp_path / "step-2.npz")
    known = find_newest(str(tmp_path), deadline_s=30).chosen
    makers.cut(path)
    choice = await _choice(tmp_path, again=known)
    assert choice.chosen is not None
    assert choice.chosen.step == 1
    assert [one.verdict for one in choice.passed_over] == ["incomplete"]


async def test_the_only_one_gone_is_no_reason_to_begin_from_zero(tmp_path: Path) -> None:
    """There was one: the empty folder is not believed."""
    path = makers.npz(tmp_path / "step-1.npz")
    known = find_newest(str(tmp_path), deadline_s=30).chosen
    path.unlink()
    choice = await _choice(tmp_path, again=known)
    assert (choice.chosen, choice.is_trustworthy) == (None, False)
