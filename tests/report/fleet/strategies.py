"""Histories and windows of every kind."""

from hypothesis import strategies as st

from supervisor.ledger.site.history import JobHistory
from supervisor.model.ids import JobId, NodeName
from supervisor.model.records import Split
from supervisor.model.verdict import Class
from supervisor.report.fleet.window import DAY_S, Asked
from tests.report.fleet.made import HOUR, NOW, history, incident

_seconds = st.none() | st.floats(0, 1e5)
_incidents = st.builds(
    lambda ago, cls, node, action, lost, detect, catch_up, recovery, is_closed: incident(
        at=NOW - ago,
        cls=cls,
        cause=f"{cls}_x",
        nodes=(NodeName(node),) if node else (),
        action=action,
        lost_node_s=lost,
        split=Split(detect=detect, catch_up=catch_up),
        recovery_s=recovery,
        is_closed=is_closed,
    ),
    st.floats(0, 40 * DAY_S),
    st.sampled_from(list(Class)),
    st.sampled_from(["", "n1", "n2", "n3"]),
    st.sampled_from(["relaunch", "stop", "observe", "none"]),
    st.floats(0, 1e6),
    _seconds,
    _seconds,
    _seconds,
    st.booleans(),
)


@st.composite
def _histories(draw: st.DrawFn) -> JobHistory:
    number = draw(st.integers(1, 99))
    nodes = tuple(NodeName(f"n{index}") for index in range(draw(st.integers(0, 9))))
    incidents = draw(st.lists(_incidents, max_size=6))
    return history(
        *(
            incident(index, **{name: getattr(one, name) for name in one.__struct_fields__ if name != "incident"})
            for index, one in enumerate(incidents, start=1)
        ),
        days=draw(st.floats(0, 30)),
        ended_at=NOW - draw(st.sampled_from([1.0, 3.0, 60.0])) * HOUR,
        ratio=draw(st.floats(0, 1)),
        job=JobId(str(number)),
        run=f"r{draw(st.integers(1, 5))}",
        user=draw(st.sampled_from(["", "anna", "ben"])),
        partition=draw(st.sampled_from(["", "a", "b"])),
        nodes=nodes,
        gpus_per_node=draw(st.sampled_from([0, 4, 8])),
        energy_j=draw(st.none() | st.floats(0, 1e9)),
        end=draw(st.sampled_from(["", "completed", "stopped", "failed", "handed_on"])),
        is_trusted=draw(st.sampled_from([True, True, True, False])),
    )


JOBS = st.lists(_histories(), max_size=8)
ASKED = st.builds(
    lambda days: Asked(until=NOW, since=None if days is None else NOW - days * DAY_S, rows=None),
    st.none() | st.sampled_from([0.5, 3, 7, 20]),
)
