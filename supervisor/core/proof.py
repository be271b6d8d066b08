"""When an attempt counts as stopped: the rule of the proof, by itself. Pure."""

from collections.abc import Collection

from supervisor.model.base import Fact
from supervisor.model.ids import NodeName


class Sweep(Fact, frozen=True, kw_only=True):
    """What a stop has found on the attempt's nodes and at Slurm."""

    left: tuple[NodeName, ...] = ()
    """Nodes on which processes of the attempt live on."""
    silent: tuple[NodeName, ...] = ()
    """Nodes that gave no answer, though they are not known to be lost."""
    lost: tuple[NodeName, ...] = ()
    """Nodes known not to answer."""
    steps: tuple[str, ...] | None = ()
    """The user's steps that Slurm still lists; None: Slurm gave no answer."""


def is_proven(sweep: Sweep) -> bool:
    """No process on any node that can be reached, and no step of the user's.

    Slurm lists the step of a lost node until it notices the loss: with one, steps that it lists do not count.
    Where Slurm is silent nothing is proven by steps: then the processes must be proven gone on every node of the
    attempt, and a lost node, which cannot say so, leaves it unproven.
    """
    if sweep.left or sweep.silent:
        return False
    if sweep.steps is None:
        return not sweep.lost
    return not sweep.steps or bool(sweep.lost)


def in_words(sweep: Sweep) -> str:
    """What stands in the way of the proof, or could not be found out; empty where nothing."""
    parts = [f"processes live on at {name}" for name in sweep.left]
    parts += [f"{name} gives no answer" for name in sweep.silent]
    if sweep.steps:
        parts.append(f"steps live on: {', '.join(sweep.steps)}")
    if sweep.steps is None:
        parts.append(f"Slurm could not be asked for its steps{_without(sweep.lost)}")
    return "; ".join(parts)


def _without(lost: Collection[NodeName]) -> str:
    return f", and {', '.join(lost)} cannot be asked either" if lost else ""
