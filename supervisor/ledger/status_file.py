"""`status.json`: how the living run is doing, rewritten by the supervisor at each change and every few seconds."""

from pathlib import Path
from typing import Final

import msgspec

from supervisor.ledger.writer import Writer
from supervisor.model.base import Fact, encode
from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId

FILE: Final = "status.json"
ENDED: Final = frozenset({"ended", "handed_over"})
"""Stages after which the file is not written again."""


class RunStatus(Fact, frozen=True, kw_only=True):
    """One look at the run. Times are seconds since the epoch; `None` and empty mean that nobody knows (yet)."""

    schema: int = 1
    run_id: RunId
    job_id: JobId
    stage: str
    """What is going on: waiting, checking, launching, running, collecting, stopping, ... ; `ended` and `handed_over`
    are the last words."""
    updated_at: float
    cluster: str = ""
    mode: str = "act"
    started_at: float | None = None
    """When the supervisor of this job began."""
    attempt: AttemptNo = AttemptNo(0)
    """The newest attempt; 0: none yet."""
    step: int | None = None
    """The slowest rank's."""
    step_seconds: float | None = None
    """Usual time of one step."""
    ranks: int = 0
    nodes: tuple[NodeName, ...] = ()
    """Nodes of the attempt, or of the job before the first one."""
    nodes_ok: int = 0
    """How many of them are heard of."""
    spares: tuple[NodeName, ...] = ()
    """Nodes of the job that wait unused."""
    excluded: tuple[NodeName, ...] = ()
    """Nodes that the run does not use any more."""
    incidents: int = 0
    """Over the whole run."""
    restarts: int = 0
    """Over the whole run."""
    lost_node_seconds: float = 0.0
    requested_node_seconds: float = 0.0
    """What the allocation has cost so far, the lost part included."""
    slurm_calls: int = 0
    """By this job's supervisor."""
    broker: str = ""
    """`mosquitto 10.0.0.1:60001`, or `stdout` where beats come over the agents' step."""
    ends_at: float | None = None
    """The time limit."""
    successor: JobId | None = None
    """The job that goes on with this run."""
    code: int | None = None
    """The script's exit code, once the run has ended."""
    signal: int | None = None
    conclusion: str = ""
    """One sentence for a person: why the run stands where it stands."""
    blockers: tuple[str, ...] = ()
    """What needs a person."""


def write_status(run_folder: Path, status: RunStatus, writer: Writer) -> None:
    """Replace the file in the writer's thread; never blocks."""
    writer.write(run_folder / FILE, encode(status))


def read_status(run_folder: Path) -> RunStatus | None:
    """The last look that was written; None where there is none or it cannot be read."""
    try:
        return msgspec.json.decode((run_folder / FILE).read_bytes(), type=RunStatus)
    except (OSError, msgspec.MsgspecError):
        return None
