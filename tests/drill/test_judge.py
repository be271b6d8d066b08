"""What was injected against what followed."""

import pytest

from supervisor.drill.judge import judge
from supervisor.drill.record import Seen
from supervisor.drill.suite import Limits
from supervisor.model.ids import IncidentNo, NodeName, Rank
from supervisor.model.records import Split
from supervisor.model.verdict import Blame, Class
from tests.drill.made import AT, SPLIT, injection, record, seen, undisturbed, verdict

LIMITS = Limits(seen_s=10.0, back_s=60.0)


def test_a_fault_that_was_handled_is_measured() -> None:
    """Detection from the deed to the opening; back from the deed to the furthest step again."""
    result = judge(seen(), LIMITS)
    assert result.is_handled
    assert result.detection_s == pytest.approx(1.2)
    assert result.back_s == pytest.approx(1.2 + 0.3 + 0.4 + 0.5 + 0.6 + 0.9)


_OOM = verdict(Class.SOFTWARE, "host_oom")
_NODE = NodeName("node002")


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        (seen(injection=None, problem="no process"), "no process"),
        (seen(injection=None, record=None), "it could not be made"),
        (seen(record=None), "nobody noticed"),
        (seen(record=record(opened_at=AT + 30)), "noticed after 30 s, limit 10 s"),
        (seen(record=record(verdict(Class.HARDWARE, "gpu_lost"))), "taken for hardware/gpu_lost instead of"),
        (seen("rank_crashed", record=record(verdict(Class.SOFTWARE, "cuda_oom"))), "instead of segfault"),
        (seen(record=record(verdict(blame=Blame(ranks=(Rank(1),))))), "blames rank 1 instead of rank 3"),
        (seen(record=record(verdict(blame=Blame()))), "blames nobody instead of rank 3"),
        (seen("node_emptied", record=record(verdict(blame=Blame()))), "blames nobody instead of node002"),
        (seen(record=record(verdict(exclude_nodes=(_NODE,)))), "excludes node002, which nothing had happened to"),
        (seen(more=(IncidentNo(2),)), "1 more interruption followed"),
        (seen(record=record(action="stop")), "action stop, the run did not go on"),
        (seen(record=record(is_closed=False)), "the furthest step was not reached again"),
        (seen(record=record(split=Split(launch=1.0))), "the furthest step was not reached again"),
        (
            seen(record=record(split=Split(launch=100.0, catch_up=0.0))),
            "the furthest step again after 1 min 41 s, limit 1 min",
        ),
        (seen(is_moving=False), "no new steps afterwards"),
        (seen("out_of_memory", record=record(_OOM)), "action relaunch instead of stop"),
        (seen("out_of_memory", record=record(_OOM, action="stop")), "its nodes are not free"),
        (seen("torn_checkpoint", record=record(resumed_step=40)), "went on from step 40 instead of"),
        (seen("torn_checkpoint", record=record(resumed_step=None)), "went on from step None instead of"),
        (seen(problem="broken off"), "broken off"),
        (undisturbed(record=record()), "interrupted the run (unknown/unattributed), and should not have"),
        (undisturbed(injection=injection()), "nobody has taken the agent's place on node002"),
        (undisturbed(injection=injection(back_at=AT + 90)), "another agent was there after 1 min 30 s, limit 1 min"),
        (undisturbed(is_moving=False), "no new steps afterwards"),
    ],
)
def test_what_is_not_as_it_should_be_is_named(what: Seen, complaint: str) -> None:
    """One thing is wrong, and it alone is said."""
    (wrong,) = judge(what, LIMITS).wrong
    assert complaint in wrong


@pytest.mark.parametrize(
    "what",
    [
        seen("node_emptied"),
        seen("node_emptied", record=record(verdict(Class.HARDWARE, "node_unreachable", exclude_nodes=(_NODE,)))),
        seen("out_of_memory", record=record(_OOM, action="stop"), is_moving=False, has_ended=True),
        seen("torn_checkpoint", record=record(resumed_step=30)),
        seen("bad_data", record=record(verdict(Class.DATA, "corrupt_shard"))),
        seen(record=record(split=SPLIT, action="resubmit")),
        undisturbed(),
        undisturbed("broker_killed"),
    ],
)
def test_each_way_of_being_handled_counts(what: Seen) -> None:
    """A stop where a rerun is hopeless, another job, a node that is excluded because it was emptied."""
    assert judge(what, LIMITS).wrong == ()
