"""What the machine knows between two events. Frozen; rebuilt by replaying the events."""

from enum import StrEnum
from typing import Literal

from supervisor.core.carried import Carried, Halt
from supervisor.core.events import NodesChecked
from supervisor.core.instructions import Finish
from supervisor.model.base import Fact
from supervisor.model.facts import Choice, JobFacts
from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId
from supervisor.model.job_comment import Mark
from supervisor.model.order import Answer
from supervisor.model.records import IncidentRecord

Rung = Literal["submit", "requeue", "submit_anyhow", "submit_anywhere"]


class Stage(StrEnum):
    """What a job is doing. All but `running` have a deadline (`deadlines.py`)."""

    NEW = "new"
    PREPARING = "preparing"
    """Tier 0 and checkpoint before the job's first attempt."""
    LAUNCHING = "launching"
    RUNNING = "running"
    COLLECTING = "collecting"
    STOPPING = "stopping"
    SHRINKING = "shrinking"
    CHECKING = "checking"
    """Tier 0 and checkpoint before a relaunch."""
    LEAVING = "leaving"
    """The script has ended after its ranks were asked to save before the time limit."""
    SUBMITTING = "submitting"
    REQUEUEING = "requeueing"
    ENDING = "ending"
    """SIGTERM has come: nothing is started any more, the script is given its time."""
    FINISHED = "finished"


class Exit(Fact, frozen=True, kw_only=True):
    """How a script ended; both None: it ended, and nobody saw how."""

    code: int | None = None
    signal: int | None = None

    @property
    def is_good(self) -> bool:
        """The script says that all is well."""
        return self.code == 0


class Attempt(Fact, frozen=True, kw_only=True):
    """The newest launch of the script in this job."""

    number: AttemptNo
    nodes: tuple[NodeName, ...]
    launched_at: float
    is_started: bool = False
    is_unsupervised: bool = False
    """The keeper started it by itself: on all nodes, without a checkpoint named."""
    exit: Exit | None = None
    warned_at: float | None = None
    """When a signal that is no SIGTERM was passed on to the script (`--signal=B:USR1@60`)."""
    is_stopping: bool = False
    """We have begun to stop it: how it ends is our doing."""
    is_gone: bool = False
    """Proven: nothing of it lives."""
    failed_at: float | None = None
    """When the first of its ranks failed."""
    failed_code: int | None = None
    """How that rank ended, as srun would pass it on: its code, or 128 and the signal."""
    hung_at: float | None = None
    """Since when none of its ranks has moved, though all live."""
    is_observed: bool = False
    """Its fault is recorded already, and nothing is done about it (observe mode)."""
    ranks_at: float | None = None
    resumed_from: str | None = None
    resumed_step: int | None = None
    step: int | None = None
    ending_lines: tuple[str, ...] = ()
    """Signatures in the output that tell why Slurm ends the job."""

    @property
    def is_live(self) -> bool:
        """The script runs, or may run at any moment."""
        return self.exit is None


class Trouble(Fact, frozen=True, kw_only=True):
    """A node that is not heard."""

    since: float
    """When it was heard last."""
    how: str
    answer: Literal["", "alive", "dead", "unknown"] = ""
    """What the last probe found."""
    dead_in_a_row: int = 0
    text: str = ""
    probes: int = 0
    probe_at: float | None = None
    """When the next probe is due; None: one is under way."""
    asked_at: float = 0.0
    restart_at: float | None = None
    """When its agent should be started again."""


class Check(Fact, frozen=True, kw_only=True):
    """One question of tier 0 and its answer."""

    ask: str
    nodes: tuple[NodeName, ...]
    answer: NodesChecked | None = None
    repeats: int = 0


class Incident(Fact, frozen=True, kw_only=True):
    """The interruption at hand, from its opening until the furthest step is reached again."""

    record: IncidentRecord
    lost: tuple[NodeName, ...] = ()
    is_diagnosed: bool = False
    is_slurm_asked: bool = False
    """Slurm's answer has come, whatever it was."""
    verdict_at: float | None = None
    action_at: float | None = None
    stopped_at: float | None = None
    ranks_at: float | None = None
    stepped_at: float | None = None
    lost_since: float = 0.0
    """From here on its lost time is not in the record yet."""


class SlurmView(Fact, frozen=True, kw_only=True):
    """What Slurm said last, and when it may be asked again because of a silent node."""

    answered_at: float | None = None
    job: JobFacts | None = None
    down: tuple[NodeName, ...] = ()
    ask_again_at: float = 0.0
    asked: int = 0


class Term(Fact, frozen=True, kw_only=True):
    """The first SIGTERM and what is known of its cause."""

    at: float
    whole_step: bool = False
    is_answered: bool = False
    """Slurm was asked and has answered, or has not in time."""
    cause: str = ""
    """walltime, preemption, requeue, node_failure, user_cancel, user_stop or unattributed."""
    is_choosing: bool = False
    """The newest checkpoint is being looked for, to know whether a successor would get further."""
    newest_step: int | None = None
    is_submitting: bool = False
    is_submitted: bool = False
    """A submission was begun, with whatever end."""
    tries: int = 0
    """Submissions that failed and are repeated."""
    submit_at: float | None = None
    """When the next one is due."""


class Saving(Fact, frozen=True, kw_only=True):
    """The time limit is near, and the ranks are to save before it."""

    slurm_at: float
    """When Slurm was asked whether the limit still stands."""
    asked_at: float | None = None
    """When the ranks were asked first."""
    looked_at: float = 0.0
    known_step: int | None = None
    """Step of the newest checkpoint when they were asked; -1: there was none; None: not known."""
    newest_step: int | None = None
    """Of one that has become whole since."""
    saved_at: float | None = None


class State(Fact, frozen=True, kw_only=True):
    """One job of a run, and what the run has behind it."""

    stage: Stage = Stage.NEW
    deadline: float | None = None
    run_id: RunId = RunId("")
    job_id: JobId = JobId("")
    nodes: tuple[NodeName, ...] = ()
    """All the nodes that the job began with."""
    batch_host: NodeName = NodeName("")
    spares: int = 0
    started_at: float = 0.0
    walltime_at: float | None = None
    preempt_mode: str = ""
    """What Slurm does to the job when another one takes its nodes; empty: not known."""
    grace_until: float | None = None
    """When the grace of a preemption under way is over, as Slurm said within it."""
    standby: JobId | None = None
    """The job that waits in the queue for this one to fail."""
    has_script: bool = True
    """False: no other job can be made of the run (`supervise run`)."""
    is_waited_for: bool = False
    """`sbatch --wait` waits for the end of this very job."""
    is_first_job: bool = True
    out: tuple[NodeName, ...] = ()
    """Nodes that have left the job."""
    unfit: dict[NodeName, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """Nodes that no attempt of this job may use, and why."""
    undroppable: tuple[NodeName, ...] = ()
    """Slurm refused to take them out: they are hidden."""
    unkillable: tuple[NodeName, ...] = ()
    """Something of an attempt lives on there: only out of the job are they out of the way."""
    up: frozenset[NodeName] = frozenset()
    trouble: dict[NodeName, Trouble] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    attempt: Attempt | None = None
    incident: Incident | None = None
    marks: tuple[Mark, ...] = ()
    """What the job's Comment tells of its incidents."""
    behind: Carried = Carried()
    """Counts over the whole run, this job included."""
    asks: int = 0
    check: Check | None = None
    choice: Choice | None = None
    """Where the next attempt resumes."""
    is_choosing: bool = False
    """The checkpoint finder has been asked for the next attempt."""
    chosen_at: float = 0.0
    """When it has answered; a choice that is older than a moment is looked at again right before the launch."""
    choose_at: float | None = None
    """When it is asked again after an answer that cannot be trusted."""
    choice_tries: int = 0
    not_before: float | None = None
    """The next attempt waits until then: the cause is one that asking at once makes worse."""
    saving: Saving | None = None
    halt: Halt | None = None
    answers: dict[str, Answer] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """To persons' orders, by the order's id: the last few."""
    shrinking: tuple[NodeName, ...] = ()
    unheard: tuple[NodeName, ...] = ()
    """Nodes that were to leave the job while Slurm gave no answer: asked again from `shrink_at` on."""
    shrink_at: float = 0.0
    tries: int = 0
    """Of the present stage."""
    agents_at: float = 0.0
    """Before this no agent is started again."""
    agent_restarts: int = 0
    slurm: SlurmView = SlurmView()
    term: Term | None = None
    exclude: tuple[NodeName, ...] = ()
    """Of the submission under way."""
    is_unproven: bool = False
    """The last attempt could not be proven stopped: nothing is started in this job."""
    rung: Rung = "submit"
    """How far down the ladder of other jobs we are (`ladder.py`)."""
    is_refused: bool = False
    """Sbatch has refused on this ladder."""
    may_start_anyway: bool = False
    """No other job can be had: the first attempt takes what nodes there are, as plain sbatch would."""
    is_silence_told: bool = False
    submitted: JobId | None = None
    unwanted: JobId | None = None
    """A successor that is cancelled: nobody hears how that went, so each later supervisor orders it again."""
    finish: Finish | None = None
    generation: int = 0

    @property
    def held(self) -> tuple[NodeName, ...]:
        """The nodes that the job has now, in Slurm's order."""
        return tuple(node for node in self.nodes if node not in self.out)

    @property
    def wanted(self) -> int:
        """How many nodes an attempt needs."""
        return max(1, len(self.nodes) - self.spares)

    @property
    def next_attempt(self) -> AttemptNo:
        """The number of the attempt that has not been launched yet."""
        return AttemptNo(self.behind.attempts + 1)

    @property
    def is_first(self) -> bool:
        """Nothing was launched in this job yet."""
        return self.attempt is None
