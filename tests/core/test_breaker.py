"""Nodes that Slurm drains after our stops: the second one ends the run."""

from supervisor.settings import Settings
from tests.core.facts import crash, node
from tests.core.harness import World

_DRAINED = "Kill task failed [root@2026-01-31T10:00:00]"


def _world() -> World:
    return World(count=5, spares=3, settings=Settings(max_lost_share=1)).start()


def _crash(world: World, number: int) -> None:
    world.verdict = crash(fingerprint=f"place {number}")
    world.ranks().progress(number).exit(1)
    world.run(30)


def test_the_second_drain_ends_the_run() -> None:
    """Restarting on would drain node after node."""
    world = _world()
    _crash(world, 1)
    world.reasons[node(2)] = _DRAINED
    _crash(world, 2)
    assert len(world.launches) == 3
    assert node(2) not in world.launches[-1].nodes
    world.reasons[node(3)] = _DRAINED
    _crash(world, 3)
    assert len(world.launches) == 3
    assert "Slurm drained node002 and node003 after our stops (Kill task failed)" in world.said


def test_another_reason_is_not_ours() -> None:
    """An admin drains nodes for the next maintenance: the job goes on."""
    world = _world()
    for number in (1, 2, 3):
        world.reasons[node(number + 1)] = "maintenance [root@2026-01-31T10:00:00]"
        _crash(world, number)
    assert len(world.launches) == 4


def test_a_drain_before_our_first_stop_does_not_count() -> None:
    """Something else left processes there."""
    world = _world()
    world.reasons |= {node(2): _DRAINED, node(3): _DRAINED}
    world.ranks().progress(1).exit(1)
    world.run(10)
    assert world.state.behind.kill_failed == ()
    assert len(world.launches) == 2


def test_it_is_counted_over_the_run() -> None:
    """One in this job, one in the next."""
    first = _world()
    _crash(first, 1)
    first.reasons[node(2)] = _DRAINED
    _crash(first, 2)
    later = World(carried=first.state.behind, spares=1, settings=Settings(max_lost_share=1)).start()
    later.reasons[node(3)] = _DRAINED
    _crash(later, 9)
    assert len(later.launches) == 1
    assert "Slurm drained node002 and node003" in later.said
