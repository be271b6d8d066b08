"""What a living run shows of itself: `status.json`, for `status`, `why` and `list`."""

from supervisor.model.base import Fact
from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId
from supervisor.model.order import Answer


class RunStatus(Fact, frozen=True, kw_only=True):
    """Written by the supervisor at each change of stage and every few seconds; old values mean a silent supervisor."""

    schema: int = 1
    run_id: RunId
    job_id: JobId
    updated_at: float
    began_at: float = 0.0
    """When this job's supervision began."""
    stage: str = ""
    """The machine's word: preparing, launching, running, collecting, …, finished."""
    mode: str = "act"
    halt: str = ""
    """A person wants the run to end (`supervise halt`): who and why."""
    answers: dict[str, Answer] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """To the last orders of persons, by the order's id."""
    attempt: AttemptNo = AttemptNo(0)
    step: int | None = None
    step_s: float | None = None
    """Seconds a step, over the last minute."""
    nodes: tuple[NodeName, ...] = ()
    """In the job now."""
    attempt_nodes: tuple[NodeName, ...] = ()
    nodes_up: int = 0
    """Nodes whose agent is heard."""
    bad: dict[NodeName, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    incidents: int = 0
    restarts: int = 0
    ends_at: float | None = None
    """The time limit."""
    slurm_calls: int = 0
    transport: str = ""
    conclusion: str = ""
    """Set once the job is over: how it ended."""
    exit_code: int | None = None
    exit_signal: int | None = None
    successor: JobId | None = None
    refused_messages: int = 0
    failed_writes: int = 0
