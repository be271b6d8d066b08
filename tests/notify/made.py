"""Messages and records for tests."""

from typing import Any

import msgspec

from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Blame, Class, Verdict
from supervisor.notify.message import Message


def message(**changes: Any) -> Message:
    """One that a person must read."""
    made = Message(
        kind="stopped",
        title="supervise: job 17 stopped",
        text="out of memory",
        run_id=RunId("llama-abcde"),
        job_id=JobId("17"),
        at=1000.0,
        fingerprint="oom",
    )
    return msgspec.structs.replace(made, **changes)


def record(**changes: Any) -> IncidentRecord:
    """An interruption that was decided about: the run goes on."""
    verdict = Verdict(
        cls=changes.pop("cls", Class.HARDWARE),
        cause=changes.pop("cause", "gpu_lost"),
        confidence=0.9,
        summary=changes.pop("summary", "gpu017 lost a GPU"),
        blame=Blame(nodes=(NodeName("gpu017"),)),
        fingerprint=changes.pop("fingerprint", "f1"),
    )
    made = IncidentRecord(
        run_id=RunId("llama-abcde"),
        job_id=JobId("17"),
        incident=IncidentNo(1),
        attempt=AttemptNo(1),
        opened_at=900.0,
        evidence_at=899.0,
        verdict=verdict,
        action="relaunch",
        action_text="started again without gpu017",
    )
    return msgspec.structs.replace(made, **changes)
