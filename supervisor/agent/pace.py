"""When a node says its second: agents of one job spread over it, each always at the same moment."""

from collections.abc import Sequence

from supervisor.model.ids import NodeName

_LEAST_S = 0.05
"""A turn closer than this was this second's: timers wake a little early or late."""


def until_turn(wall: float, node: NodeName, nodes: Sequence[NodeName]) -> float:
    """Seconds from `wall` (seconds since the epoch) to the node's next turn, at most one and a bit.

    By the wall clock, so that neighbours stay apart for days; a clock that jumps costs one early or late beat.
    """
    place = nodes.index(node) / len(nodes) if node in nodes else 0.0
    wait = (place - wall) % 1.0
    return wait if wait >= _LEAST_S else wait + 1.0
