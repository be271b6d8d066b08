"""A dead node that Slurm was asked to let go while slurmctld was away: it would take the whole job along."""

from supervisor.core.instructions import Shrink
from supervisor.core.state import Stage
from tests.core.facts import node, nodes
from tests.core.harness import World


def _lost_while_slurm_is_away() -> World:
    world = World(spares=1, shrink_heard=False).start().progress(9).kill(node(3)).settle()
    assert world.state.stage is Stage.RUNNING
    assert world.launches[1].nodes == nodes(1, 2, 4)
    return world


def test_it_is_asked_again_until_slurm_answers() -> None:
    """The attempt without the node goes on meanwhile, undisturbed."""
    world = _lost_while_slurm_is_away().ranks()
    asked = len(world.given(Shrink))
    world.run(20)
    assert len(world.given(Shrink)) > asked
    world.shrink_heard = True
    world.run(20)
    assert world.state.out == nodes(3)
    assert (world.state.undroppable, world.state.unheard) == ((), ())
    answered = len(world.given(Shrink))
    world.run(60)
    assert len(world.given(Shrink)) == answered
    assert len(world.launches) == 2


def test_it_is_said_once() -> None:
    """However often Slurm is asked."""
    world = _lost_while_slurm_is_away().ranks()
    world.run(60)
    assert world.said.count("hidden from the ranks") == 1


def test_a_refusal_is_not_asked_again() -> None:
    """Slurm has said no: the node stays hidden."""
    world = World(spares=1, shrink_ok=False).start().progress(9).kill(node(3)).settle().ranks()
    asked = len(world.given(Shrink))
    world.run(60)
    assert len(world.given(Shrink)) == asked


def test_a_supervisor_that_begins_anew_asks_again() -> None:
    """What is to be asked again is part of the state that the log gives."""
    world = _lost_while_slurm_is_away().ranks().restart()
    world.shrink_heard = True
    world.run(30)
    assert world.state.out == nodes(3)
