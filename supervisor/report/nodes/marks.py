"""A person's word that a node was repaired, as it stands in `<ledger>/.nodes/returned.jsonl`. Pure."""

from collections.abc import Iterable

from supervisor.model.base import Fact
from supervisor.model.ids import NodeName


class Returned(Fact, frozen=True, kw_only=True):
    """One line. What was known of the node before says nothing about it any more."""

    schema: int = 1
    node: NodeName
    at: float


def newest(marks: Iterable[Returned], until: float) -> dict[str, float]:
    """The last mark of each node; one of the future is a clock that is wrong, and would hide what happens now."""
    found: dict[str, float] = {}
    for mark in marks:
        if mark.at <= until:
            found[mark.node] = max(found.get(mark.node, mark.at), mark.at)
    return found
