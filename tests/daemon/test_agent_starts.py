"""How often agents may be started on a node."""

from supervisor.daemon.agent_steps import StartPlan
from supervisor.model.ids import NodeName

_N1, _N2 = NodeName("n1"), NodeName("n2")


def test_all_missing_nodes_start_together() -> None:
    """One step for all nodes that miss their agent."""
    assert StartPlan().due([_N1, _N2], 0.0) == [_N1, _N2]


def test_a_fresh_start_is_not_doubled() -> None:
    """While a step is coming up nobody starts a second agent on its nodes."""
    plan = StartPlan()
    plan.due([_N1], 0.0)
    assert plan.due([_N1, _N2], 3.0) == [_N2]


def test_failures_wait_longer_and_longer() -> None:
    """A node whose agents do not come up is tried after 10, 15, 60 seconds."""
    plan = StartPlan()
    tried = [now for now in range(200) if plan.due([_N1], float(now))]
    assert tried == [0, 10, 25, 85]


def test_a_node_that_was_heard_begins_anew() -> None:
    """After a good life the next loss is answered at once."""
    plan = StartPlan()
    for now in (0.0, 10.0, 25.0):
        plan.due([_N1], now)
    plan.heard(_N1)
    assert plan.due([_N1], 26.0) == [_N1]
