"""Marks of repair."""

from supervisor.model.ids import NodeName
from supervisor.report.nodes.marks import Returned, newest


def test_the_last_mark_of_a_node_counts_and_none_of_the_future() -> None:
    """A clock that is wrong must not hide what happens now."""
    marks = [Returned(node=NodeName(node), at=at) for node, at in (("a", 5.0), ("a", 9.0), ("a", 7.0), ("b", 11.0))]
    assert newest(marks, 10.0) == {"a": 9.0}
