"""How long each node has worked for jobs: what its number of incidents must be compared with. Pure."""

import math
from collections.abc import Iterable, Iterator
from typing import Final

from supervisor.ledger.site.history import JobHistory
from supervisor.report.nodes.model import Look
from supervisor.report.nodes.names import is_node

_HOUR_S: Final = 3600.0
_Span = tuple[float, float, float]
"""From when, until when, and the share of that time."""


def exposure(jobs: Iterable[JobHistory], look: Look) -> dict[str, float]:
    """Node-hours of each node within the window; never more than the window has, whatever jobs claim."""
    spans: dict[str, list[_Span]] = {}
    for history in jobs:
        for node, begin, end, share in _spans(history):
            since, until = max(begin, look.begin(node)), min(end, look.until)
            if since < until:
                spans.setdefault(node, []).append((since, until, share))
    return {node: _worked(sorted(mine)) / _HOUR_S for node, mine in spans.items()}


def _worked(spans: Iterable[_Span]) -> float:
    """Seconds. Jobs that shared the node worked on it once: it is the node that may break."""
    covered, held, reached = 0.0, 0.0, -math.inf
    for begin, end, share in spans:
        held += (end - begin) * share
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return min(held, covered)


def _spans(history: JobHistory) -> Iterator[tuple[str, float, float, float]]:
    """Node, from when, until when, and which share of that time it was held.

    A node that had to leave worked until then. A job without a word on its use counts until its last word; one that
    Slurm started again held its nodes less than the time from its beginning to its end.
    """
    begin, end = history.job.at, history.last_at
    left: dict[str, float] = {}
    for incident in history.incidents:
        for node in incident.left:
            left[node] = min(left.get(node, end), max(begin, incident.at))
    nodes = [node for node in dict.fromkeys(history.job.nodes) if is_node(node)]
    whole = sum(left.get(node, end) - begin for node in nodes)
    held = whole
    if history.use is not None:
        # The last word on its use may be older than its last incident: what came between was held as well.
        after = sum(max(0.0, left.get(node, end) - history.use.at) for node in nodes)
        held = history.use.held_node_s + after
    share = min(1.0, held / whole) if whole > 0 else 0.0
    for node in nodes:
        yield node, begin, left.get(node, end), share
