"""What can happen to a run, as `events.jsonl` records it for a replay. `at`: epoch seconds by a clock without steps."""

from typing import Literal

from supervisor.core.carried import Carried
from supervisor.model.base import Fact
from supervisor.model.facts import Choice, JobFacts, NodeState
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, Rank, RunId
from supervisor.model.order import PersonOrder
from supervisor.model.verdict import Verdict
from supervisor.model.wire import NodeFacts


class RunStarted(Fact, frozen=True, kw_only=True, tag="run_started"):
    """First event of a job: who we are and what we have."""

    at: float
    run_id: RunId
    job_id: JobId
    nodes: tuple[NodeName, ...]
    batch_host: NodeName
    spares: int = 0
    """How many of `nodes` are there only as spares."""
    walltime_at: float | None = None
    preempt_mode: str = ""
    """What Slurm does to the job when another one takes its nodes: `REQUEUE`, `CANCEL`, ...; empty: not known."""
    standby: JobId | None = None
    """The job that waits in the queue for this one to fail."""
    has_script: bool = True
    """False: a command in somebody's allocation (`supervise run`), of which no other job can be made."""
    is_waited_for: bool = False
    """`sbatch --wait` waits for the end of this very job."""
    restarts: int = 0
    """SLURM_RESTART_COUNT."""
    carried: Carried | None = None
    """What earlier jobs of this run used up; None in the first job."""


class SupervisorStarted(Fact, frozen=True, kw_only=True, tag="supervisor_started"):
    """This process began (again). After a replay it tells the machine that answers to open questions are lost."""

    at: float
    generation: int


class KeeperReported(Fact, frozen=True, kw_only=True, tag="keeper_reported"):
    """The keeper's whole state, sent when it greets a supervisor."""

    at: float
    attempt: AttemptNo
    """The newest attempt that the keeper started; 0 = none."""
    is_alive: bool
    code: int | None = None
    signal: int | None = None
    is_unsupervised: bool = False
    """The keeper started it by itself because no supervisor answered."""
    signals: tuple[int, ...] = ()
    """Signals that the batch pid has received so far."""


class AttemptStarted(Fact, frozen=True, kw_only=True, tag="attempt_started"):
    """The keeper started the script."""

    at: float
    attempt: AttemptNo
    pid: int


class AttemptEnded(Fact, frozen=True, kw_only=True, tag="attempt_ended"):
    """The script ended: exactly one of `code` and `signal` is set."""

    at: float
    attempt: AttemptNo
    code: int | None = None
    signal: int | None = None


class SignalReceived(Fact, frozen=True, kw_only=True, tag="signal_received"):
    """The batch pid received a signal."""

    at: float
    number: int
    whole_step: bool = False
    """Every process of the batch step received it, as by `scancel JOB`."""


class AgentUp(Fact, frozen=True, kw_only=True, tag="agent_up"):
    """An agent has reported for the first time, or again after a loss."""

    at: float
    node: NodeName
    facts: NodeFacts | None = None


class AgentSilent(Fact, frozen=True, kw_only=True, tag="agent_silent"):
    """Nothing was heard of a node that was heard before (or that should have reported by now)."""

    at: float
    node: NodeName
    how: Literal["last_will", "silent", "never_heard", "step_ended"]
    last_heard: float
    """When it was heard last; for `never_heard` when it was first expected."""


class NodeProbed(Fact, frozen=True, kw_only=True, tag="node_probed"):
    """Answer to `ProbeNode`."""

    at: float
    node: NodeName
    answer: Literal["alive", "dead", "unknown"]
    """alive: its slurmd accepted. dead: refused or silent while others are reached. unknown: we reach nobody."""
    text: str = ""


class NodesChecked(Fact, frozen=True, kw_only=True, tag="nodes_checked"):
    """Answer to `CheckNodes`: tier 0 of every asked node. A node without an answer is in `silent`."""

    at: float
    ask: str
    good: tuple[NodeName, ...]
    bad: dict[NodeName, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """Why, in words."""
    silent: tuple[NodeName, ...] = ()


class RanksSeen(Fact, frozen=True, kw_only=True, tag="ranks_seen"):
    """Processes of the attempt's step run (first sight on any node), with the count of ranks known so far."""

    at: float
    attempt: AttemptNo
    nodes: tuple[NodeName, ...]
    ranks: int


class Progressed(Fact, frozen=True, kw_only=True, tag="progressed"):
    """The slowest rank's step moved. Given to the machine at each change, recorded at most once a minute."""

    at: float
    attempt: AttemptNo
    step: int


class Saved(Fact, frozen=True, kw_only=True, tag="saved"):
    """A save of the attempt took longer than all before: from its first beat to the next step."""

    at: float
    attempt: AttemptNo
    seconds: float


class Stalled(Fact, frozen=True, kw_only=True, tag="stalled"):
    """After a rank of the attempt had ended or failed, no remaining rank has moved for `silent_s`."""

    at: float
    attempt: AttemptNo
    silent_s: float


class Hung(Fact, frozen=True, kw_only=True, tag="hung"):
    """No rank of the attempt has moved for `silent_s`, which is too long for what they were at; all of them live."""

    at: float
    attempt: AttemptNo
    silent_s: float


class RankFailed(Fact, frozen=True, kw_only=True, tag="rank_failed"):
    """srun or slurmstepd said in the job's output how a task ended, or an agent saw a rank's process vanish."""

    at: float
    attempt: AttemptNo
    rank: Rank | None = None
    node: NodeName | None = None
    code: int | None = None
    signal: int | None = None
    text: str = ""


class LineSeen(Fact, frozen=True, kw_only=True, tag="line_seen"):
    """A line of the job's output that a signature knows (bounded: the first of each signature, attempt and node)."""

    at: float
    attempt: AttemptNo
    signature: str
    text: str


class SlurmReported(Fact, frozen=True, kw_only=True, tag="slurm_reported"):
    """Answer to `AskSlurm`; `job is None`: the query failed, nothing is known."""

    at: float
    job: JobFacts | None
    nodes: tuple[NodeState, ...] = ()


class Diagnosed(Fact, frozen=True, kw_only=True, tag="diagnosed"):
    """Answer to `Collect`."""

    at: float
    incident: IncidentNo
    verdict: Verdict
    step: int | None = None
    """The furthest step at which any rank was seen: in step with the others, a lost node had come as far."""


class Stopped(Fact, frozen=True, kw_only=True, tag="stopped"):
    """Answer to `StopAttempt`."""

    at: float
    attempt: AttemptNo
    is_proven: bool
    """No step of ours but the agents', no process of the attempt on any reachable node."""
    unkillable: tuple[NodeName, ...] = ()
    unreachable: tuple[NodeName, ...] = ()
    text: str = ""


class Shrunk(Fact, frozen=True, kw_only=True, tag="shrunk"):
    """Answer to `Shrink`, for exactly those nodes."""

    at: float
    dropped: tuple[NodeName, ...]
    ok: bool
    is_heard: bool = True
    """False: Slurm gave no answer, to the order or to the question what became of it."""
    text: str = ""


class CheckpointChosen(Fact, frozen=True, kw_only=True, tag="checkpoint_chosen"):
    """Answer to `ChooseCheckpoint`."""

    at: float
    attempt: AttemptNo
    choice: Choice


class Submitted(Fact, frozen=True, kw_only=True, tag="submitted"):
    """Answer to `Submit`."""

    at: float
    outcome: Literal["accepted", "refused", "unknown"]
    """unknown: sbatch gave no answer and the job was not found either."""
    job_id: JobId | None = None
    text: str = ""
    holds: bool = False
    """Refused without asking sbatch: jobs wait for this one's end that cannot be told to wait for another."""
    moved: tuple[JobId, ...] = ()
    """Jobs that waited for this one's end, and wait for the successor's now."""
    left: tuple[str, ...] = ()
    """Those that still wait for this one's."""


class Requeued(Fact, frozen=True, kw_only=True, tag="requeued"):
    """Answer to `Requeue`."""

    at: float
    ok: bool
    text: str = ""


class Ordered(Fact, frozen=True, kw_only=True, tag="ordered"):
    """A person wants something of the running job (`supervise halt`, `mode`, `exclude`, ...)."""

    at: float
    order: PersonOrder


class Tick(Fact, frozen=True, kw_only=True, tag="tick"):
    """Deadlines are judged here. Recorded only when something was decided, so that a replay decides the same."""

    at: float


Event = (
    RunStarted
    | SupervisorStarted
    | KeeperReported
    | AttemptStarted
    | AttemptEnded
    | SignalReceived
    | AgentUp
    | AgentSilent
    | NodeProbed
    | NodesChecked
    | RanksSeen
    | Progressed
    | Saved
    | Stalled
    | Hung
    | RankFailed
    | LineSeen
    | SlurmReported
    | Diagnosed
    | Stopped
    | Shrunk
    | CheckpointChosen
    | Submitted
    | Requeued
    | Ordered
    | Tick
)
