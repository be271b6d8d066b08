"""Run folders made by hand."""

from pathlib import Path
from typing import Any

from supervisor.ledger.records import record_path
from supervisor.ledger.run_file import RunFile, encode_run
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, Rank, RunId
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.status import RunStatus
from supervisor.model.verdict import Blame, Class, Evidence, Verdict
from supervisor.report.view import RunView, read_view

NOW = 1_800_000_000.0
NODES = tuple(NodeName(f"node00{number}") for number in range(1, 5))


def run_file(**changes: Any) -> RunFile:
    return RunFile(**{"run_id": RunId("llama-abc12"), "created_at": NOW - 600, "python": "/usr/bin/python3", **changes})


def status(**changes: Any) -> RunStatus:
    """A run that does well."""
    usual = {
        "run_id": RunId("llama-abc12"),
        "job_id": JobId("17"),
        "updated_at": NOW - 1,
        "stage": "running",
        "attempt": AttemptNo(2),
        "step": 58_410,
        "step_s": 2.0,
        "nodes": NODES,
        "attempt_nodes": NODES[:3],
        "nodes_up": 4,
    }
    return RunStatus(**{**usual, **changes})


def lost_node(**changes: Any) -> IncidentRecord:
    """A node died, and the run went on without it."""
    usual = {
        "run_id": RunId("llama-abc12"),
        "job_id": JobId("17"),
        "incident": IncidentNo(1),
        "attempt": AttemptNo(1),
        "opened_at": NOW - 300,
        "evidence_at": NOW - 302.2,
        "verdict": Verdict(
            cls=Class.HARDWARE,
            cause="node_unreachable",
            confidence=0.95,
            summary="a node no longer answers on node003",
            blame=Blame(nodes=(NODES[2],)),
            exclude_nodes=(NODES[2],),
            evidence=(Evidence(source="facts.json", role="root", signature="node_lost", text="node003 is silent"),),
        ),
        "action": "relaunch_on_spare",
        "action_text": "node003 leaves the job; starting again on node001, node002 and node004",
        "isolation": "node",
        "split": Split(detect=2.2, collect=0.4, decide=0.0, stop=0.5, launch=1.3, init=3.1, catch_up=16.0),
        "recovery_s": 1.8,
        "resumed_step": 51_200,
        "steps_lost": 3,
        "lost_node_seconds": 60.0,
        "is_closed": True,
    }
    return IncidentRecord(**{**usual, **changes})


def own_bug(**changes: Any) -> IncidentRecord:
    """The program raised the same exception twice."""
    verdict = Verdict(
        cls=Class.SOFTWARE,
        cause="cuda_oom",
        confidence=0.9,
        summary="GPU memory ran out on rank 12 (node002)",
        blame=Blame(nodes=(NODES[1],), ranks=(Rank(12),)),
    )
    usual = {
        "incident": IncidentNo(2),
        "attempt": AttemptNo(2),
        "verdict": verdict,
        "action": "stop",
        "action_text": "stopped: the same failure as before, with no new step between",
        "isolation": "rank",
        "recovery_s": None,
        "split": Split(detect=0.0),
    }
    return lost_node(**{**usual, **changes})


def ended(cause: str, action: str = "stop", **changes: Any) -> IncidentRecord:
    """Somebody or something ended the job on purpose."""
    words = {"user_cancel": "the job was cancelled", "walltime": "the time limit has ended the job"}.get(cause, cause)
    verdict = Verdict(cls=Class.PLANNED, cause=cause, confidence=0.9, summary=words)
    usual = {"attempt": AttemptNo(2), "verdict": verdict, "action": action, "action_text": words, "recovery_s": None}
    return lost_node(**{**usual, **changes})


def make(
    folder: Path, *records: IncidentRecord, run: RunFile | None = None, status: RunStatus | None, jobs: str = "17"
) -> Path:
    """A run folder with these files."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(encode_run(run or run_file()))
    if status is not None:
        (folder / "status.json").write_bytes(encode(status))
    (folder / "jobs").mkdir()
    for job in jobs.split():
        (folder / "jobs" / f"{job}.json").write_text("{}")
    for record in records:
        path = record_path(folder, record.incident)
        path.parent.mkdir(parents=True)
        path.write_bytes(encode(record))
    return folder


def view(
    folder: Path, *records: IncidentRecord, run: RunFile | None = None, status: RunStatus | None, jobs: str = "17"
) -> RunView:
    """A look at such a folder."""
    return read_view(make(folder / (run or run_file()).run_id, *records, run=run, status=status, jobs=jobs))
