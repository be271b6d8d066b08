"""What agents and supervisor say to each other: one line of JSON each, under the topics of `bus/topics.py`."""

from typing import Literal

from supervisor.model.base import Fact
from supervisor.model.ids import AttemptNo, NodeName, Rank


class NodeFacts(Fact, frozen=True, kw_only=True):
    """What tier 0 compares between nodes. `None` = could not be read; never a guess."""

    boot_id: str | None = None
    kernel: str | None = None
    python: str | None = None
    gpu_count: int | None = None
    """Devices this job may open here; None where there is no driver."""
    expected_gpu_count: int | None = None
    """From the allocation (SLURM_GPUS_ON_NODE or GRES of the step); None where the job asked for none."""
    driver_version: str | None = None
    shm_free_bytes: int | None = None
    mounts_missing: tuple[str, ...] = ()
    """Folders the job needs (its working folder, the checkpoint folder) that did not answer or are not there."""
    clock_s: float | None = None
    """The node's wall clock when the facts were read."""


class Status(Fact, frozen=True, kw_only=True, tag="status"):
    """An agent's retained sign that it is up; its last will says `down`."""

    node: NodeName
    state: Literal["up", "down"]
    pid: int = 0
    started_at: float = 0.0
    address: str = ""
    """Where this node's slurmd can be reached, for direct probes."""
    facts: NodeFacts | None = None


class RankBeat(Fact, frozen=True, kw_only=True):
    """One rank's page as the agent read it."""

    rank: Rank
    pid: int
    step: int
    phase: str
    """setup, data, step, checkpoint, eval or idle."""
    count: int
    """Beats since the rank started; a count that stands still is a rank that stands still."""
    age_s: float
    """Seconds since this count last changed, by the agent's monotonic clock."""
    is_alive: bool
    """The process that owns the page exists."""
    loss: float | None = None
    compute_s: float | None = None
    """As the rank last said it, however long ago."""
    comm_s: float | None = None
    has_ended: bool = False
    """The process said that it comes to its end: one that is gone without has been killed, or has crashed."""
    tells: bool = False
    """It has told of a save, an evaluation or a pause since it started."""
    state: str = ""
    """Of the process, as the kernel has it (`S`, `D`, `T`, ...), once it stands still; empty: not known."""


class Beats(Fact, frozen=True, kw_only=True, tag="beats"):
    """Once per second and node, also without ranks: it is the node's own sign of life."""

    node: NodeName
    at: float
    attempt: AttemptNo
    """The newest attempt whose processes are on this node; 0 = none."""
    processes: int = 0
    """Processes of that attempt on this node, the batch script's own tree not counted."""
    ranks: tuple[RankBeat, ...] = ()


class RankGone(Fact, frozen=True, kw_only=True, tag="rank_gone"):
    """A rank's process ended. How it ended is srun's and slurmstepd's to say, in the job's output."""

    node: NodeName
    at: float
    attempt: AttemptNo
    rank: Rank
    pid: int
    step: int
    has_ended: bool = False
    """As in `RankBeat`."""


class Fenced(Fact, frozen=True, kw_only=True, tag="fenced"):
    """The agent killed its ranks because nobody was to be heard for the whole lease."""

    node: NodeName
    at: float
    attempt: AttemptNo
    killed: int


class StopRanks(Fact, frozen=True, kw_only=True, tag="stop_ranks"):
    """Command: end every process of this attempt (and older ones) on the node; answered by `Stopped`."""

    ask: str
    """Comes back in the answer, so that answers to older questions are not believed."""
    attempt: AttemptNo
    grace_s: float
    """Between TERM and KILL."""
    part: Literal["tasks", "all"] = "all"
    """`tasks` spares the batch script's own process tree (script, srun): srun must see its tasks end."""


class CheckNode(Fact, frozen=True, kw_only=True, tag="check_node"):
    """Command: run tier 0 here and answer with `Checked`."""

    ask: str
    folders: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    """`host:port` of what must be reachable by TCP."""
    deadline_s: float = 8.0


class TellBeats(Fact, frozen=True, kw_only=True, tag="tell_beats"):
    """Command: say `Beats` now and not only at this node's turn; a rank has failed. It has no other answer."""

    ask: str


class SaveAndStop(Fact, frozen=True, kw_only=True, tag="save_and_stop"):
    """Command: let `beat()` return True in all ranks of the running attempt from now on. It has no answer."""

    ask: str
    signal: int = 0
    """Sent besides, once to each rank; 0: none."""


class Stopped(Fact, frozen=True, kw_only=True, tag="stopped"):
    """Answer to `StopRanks`: the proof, or who is left."""

    node: NodeName
    ask: str
    left: tuple[int, ...] = ()
    """Process ids that live on after KILL."""
    unkillable: tuple[int, ...] = ()
    """Those of them in D state: the node must leave."""


class Checked(Fact, frozen=True, kw_only=True, tag="checked"):
    """Answer to `CheckNode`."""

    node: NodeName
    ask: str
    facts: NodeFacts
    address: str = ""
    """Where other nodes ask for this one as a peer; empty where unknown."""
    unreachable_peers: tuple[str, ...] = ()
    took_s: float = 0.0


FromAgent = Status | Beats | RankGone | Fenced | Stopped | Checked
ToAgent = StopRanks | CheckNode | TellBeats | SaveAndStop
