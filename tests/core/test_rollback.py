"""A checkpoint that looks whole and cannot be loaded: the one before it is next, and never the beginning."""

import msgspec

from supervisor.core.instructions import ChooseCheckpoint, Submit
from supervisor.model.verdict import Class, Retry, Verdict
from supervisor.settings import Settings
from tests.core.facts import crash, whole
from tests.core.harness import World

_CORRUPT = Verdict(
    cls=Class.DATA, cause="checkpoint_corrupt", confidence=0.9, summary="no zip", retry=Retry.YES, fingerprint="zip"
)


def _cannot_load() -> World:
    """The attempt from step 7 has failed at once; step 7 is the newest in the store."""
    world = World(settings=Settings(checkpoint="/ck", max_lost_share=1), choice=whole(7)).start()
    world.verdict = _CORRUPT
    world.exit(1)
    return world


def _rolled_back() -> World:
    world = _cannot_load()
    world.choice = whole(3)
    world.run(30)
    assert world.launches[-1].resume_from == "/ck/3"
    world.ranks()
    return world


def test_the_only_checkpoint_ends_the_run_at_once() -> None:
    """Nothing else will ever be there: nodes must not wait for it. The record says what was done."""
    world = _cannot_load()
    world.run(30)
    assert world.finish is not None
    assert "no checkpoint is left that can be loaded" in world.finish.reason
    assert len(world.launches) == 1
    assert world.records[-1].action == "stop"


def test_its_name_is_used_again_once_the_run_is_further() -> None:
    """By then it was written anew: a run whose checkpoint has one name would never resume from it again."""
    world = _rolled_back()
    world.progress(9)
    world.choice, world.verdict = whole(7), crash()
    world.exit(1)
    world.run(30)
    assert world.launches[-1].resume_from == "/ck/7"


def test_what_was_written_after_it_is_progress_at_the_time_limit() -> None:
    """The successor resumes from there: the run is not given up because an older file had a higher number."""
    world = _rolled_back()
    world.choice = whole(5)
    assert world.slurm is not None
    world.slurm = msgspec.structs.replace(world.slurm, state="COMPLETING", reason="TimeLimit")
    world.term()
    world.settle()
    assert world.given(Submit)


def test_it_is_no_progress_at_the_time_limit() -> None:
    """A successor could not begin with it either."""
    world = _rolled_back()
    world.choice = whole(7)
    assert world.slurm is not None
    world.slurm = msgspec.structs.replace(world.slurm, state="COMPLETING", reason="TimeLimit")
    world.term()
    world.settle()
    assert world.given(ChooseCheckpoint)[-1].avoid == ("/ck/7",)
    assert not world.given(Submit)
