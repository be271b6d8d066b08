"""Injections and incidents as a drill sees them."""

from typing import Any

import msgspec

from supervisor.drill.record import DrillRecord, Injection, Seen
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, Rank, RunId
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.verdict import Blame, Class, Verdict

AT = 1_796_000_000.0
SPLIT = Split(detect=1.0, collect=0.3, decide=0.0, stop=0.4, launch=0.5, init=0.6, catch_up=0.9)


def injection(**changes: Any) -> Injection:
    """Rank 3 on node002, at step 47 of the trainer."""
    return msgspec.structs.replace(
        Injection(at=AT, node=NodeName("node002"), rank=Rank(3), pid=4711, step=47), **changes
    )


def verdict(cls: Class = Class.UNKNOWN, cause: str = "unattributed", **changes: Any) -> Verdict:
    """Blames rank 3 on node002."""
    blame = Blame(nodes=(NodeName("node002"),), ranks=(Rank(3),))
    return msgspec.structs.replace(
        Verdict(cls=cls, cause=cause, confidence=0.8, summary="as told", blame=blame), **changes
    )


def record(what: Verdict | None = None, **changes: Any) -> IncidentRecord:
    """Opened 1.2 s after the injection and over."""
    made = IncidentRecord(
        run_id=RunId("drill-abcde"),
        job_id=JobId("7"),
        incident=IncidentNo(1),
        attempt=AttemptNo(1),
        opened_at=AT + 1.2,
        evidence_at=AT + 0.2,
        verdict=what or verdict(),
        action="relaunch",
        isolation="rank",
        split=SPLIT,
        recovery_s=1.2,
        resumed_step=30,
        step_before=47,
        steps_lost=17,
        is_closed=True,
    )
    return msgspec.structs.replace(made, **changes)


def seen(fault: str = "rank_killed", **changes: Any) -> Seen:
    """A rank that was killed, and all went well."""
    made = Seen(
        fault=fault,
        run_id=RunId("drill-abcde"),
        job_id=JobId("7"),
        injection=injection(),
        record=record(),
        is_moving=True,
    )
    return msgspec.structs.replace(made, **changes)


def undisturbed(fault: str = "agent_killed", **changes: Any) -> Seen:
    """A helper was killed, another came, and nothing was interrupted."""
    quiet = seen(fault, injection=injection(rank=None, back_at=AT + 2.0), record=None)
    return msgspec.structs.replace(quiet, **changes)


def drill(*faults: Seen, **changes: Any) -> DrillRecord:
    """A drill that saw these."""
    made = DrillRecord(version="1", began_at=AT - 60, run_id=RunId("drill-abcde"), jobs=(JobId("7"),), seen=faults)
    return msgspec.structs.replace(made, folder="/w/.supervise/drill-1", **changes)
