"""What the machine wants done. The daemon's hands carry it out and answer with an event.

Every instruction with an answer has a deadline in the hands; the machine has its own, later one (`Tick`), so that
a hand that never answers does not hold the run. Carrying out an instruction twice (after a takeover) must do no harm.
"""

from supervisor.model.base import Fact
from supervisor.model.facts import Checkpoint
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName
from supervisor.model.records import IncidentRecord


class CheckNodes(Fact, frozen=True, kw_only=True, tag="check_nodes"):
    """Tier 0 on these nodes; answered by `NodesChecked`. Starts missing agents first (one step for all that miss)."""

    ask: str
    nodes: tuple[NodeName, ...]


class ChooseCheckpoint(Fact, frozen=True, kw_only=True, tag="choose_checkpoint"):
    """Find the newest whole checkpoint; answered by `CheckpointChosen`."""

    attempt: AttemptNo
    known_step: int | None = None
    """A step that is known to have been saved there: an empty listing is not believed then."""
    again: Checkpoint | None = None
    """Chosen a while ago for the launch that is due: looked at again first, and kept if it is still whole."""
    avoid: tuple[str, ...] = ()
    """Paths that an attempt could not begin with: passed over, however whole they look."""


class LaunchAttempt(Fact, frozen=True, kw_only=True, tag="launch_attempt"):
    """Start the script on these nodes; answered by `AttemptStarted`."""

    attempt: AttemptNo
    nodes: tuple[NodeName, ...]
    hidden: tuple[NodeName, ...] = ()
    """Nodes of the job that are not in the attempt."""
    resume_from: str | None = None
    resume_step: int | None = None
    incident: IncidentNo | None = None
    """The incident that this launch recovers from."""
    skip: tuple[str, ...] = ()
    """What the program is asked to leave out."""


class ProbeNode(Fact, frozen=True, kw_only=True, tag="probe_node"):
    """Ask the node's slurmd directly; answered by `NodeProbed`."""

    node: NodeName


class AskSlurm(Fact, frozen=True, kw_only=True, tag="ask_slurm"):
    """One question to Slurm about job and nodes, within 3 s; answered by `SlurmReported`."""


class Collect(Fact, frozen=True, kw_only=True, tag="collect"):
    """Gather the bundle of this incident and diagnose it; answered by `Diagnosed`."""

    incident: IncidentNo
    attempt: AttemptNo
    lost_nodes: tuple[NodeName, ...] = ()
    code: int | None = None
    signal: int | None = None
    """How the script ended, where it has."""
    hung_s: float | None = None
    """For how long no rank had moved, where nothing but that has broken the attempt."""


class StopAttempt(Fact, frozen=True, kw_only=True, tag="stop_attempt"):
    """Stop with proof; answered by `Stopped`."""

    attempt: AttemptNo
    nodes: tuple[NodeName, ...]
    lost: tuple[NodeName, ...] = ()
    """Known not to answer: no proof is asked of them."""


class Shrink(Fact, frozen=True, kw_only=True, tag="shrink"):
    """Take nodes out of the job; answered by `Shrunk` naming the same nodes."""

    drop: tuple[NodeName, ...]
    keep: tuple[NodeName, ...]


class Submit(Fact, frozen=True, kw_only=True, tag="submit"):
    """Submit the successor without these nodes (merged with the user's own exclusions); answered by `Submitted`.

    The hands write the claim for the successor before they ask, and look for a job that a timed-out sbatch made.
    """

    exclude: tuple[NodeName, ...]
    after_this_job: bool = False
    """Something of this job may still live: the successor must not begin before it has ended (`afterany`)."""
    only_look: bool = False
    """Given before, and now there is no cause for it: find the job that it may have made, and make none."""
    standby: JobId | None = None
    """Waits in the queue for this job to fail: it goes on, where it still can, and nothing is submitted."""
    whoever_waits: bool = False
    """Nothing better is left: jobs that wait for this one's end and cannot be moved are no reason against it."""


class TellStandby(Fact, frozen=True, kw_only=True, tag="tell_standby"):
    """The job that waits for this one to fail must not begin on these nodes. Has no answer."""

    job_id: JobId
    exclude: tuple[NodeName, ...]


class CancelJob(Fact, frozen=True, kw_only=True, tag="cancel_job"):
    """Cancel a successor that is not wanted any more: the user has cancelled the run. Has no answer."""

    job_id: JobId


class Requeue(Fact, frozen=True, kw_only=True, tag="requeue"):
    """The next rung when a submission was refused: `scontrol requeue` with ExcNodeList; answered by `Requeued`."""

    exclude: tuple[NodeName, ...]


class Finish(Fact, frozen=True, kw_only=True, tag="finish"):
    """The job ends now, with the user's last exit status; `handed_over`: another job goes on, never exit 0."""

    code: int | None = None
    signal: int | None = None
    handed_over: bool = False
    reason: str = ""
    """One sentence."""
    comment: str = ""
    """The job's last Comment: the sentence and what can be read back."""


class Say(Fact, frozen=True, kw_only=True, tag="say"):
    """One line in the job's output, prefixed `supervise:`."""

    text: str


class Comment(Fact, frozen=True, kw_only=True, tag="comment"):
    """Slurm's Comment of the job. The hands drop what comes too often, never the last one."""

    text: str


class AskSave(Fact, frozen=True, kw_only=True, tag="ask_save"):
    """Ask the ranks of this attempt to save and stop: `beat()` returns True from now on. Has no answer."""

    attempt: AttemptNo


class PutAway(Fact, frozen=True, kw_only=True, tag="put_away"):
    """A person's order is carried out and its answer known: its file may go."""

    order: str


class KeepRecord(Fact, frozen=True, kw_only=True, tag="keep_record"):
    """Write (again) `incidents/NNN/verdict.json`."""

    record: IncidentRecord


Instruction = (
    CheckNodes
    | ChooseCheckpoint
    | LaunchAttempt
    | ProbeNode
    | AskSlurm
    | Collect
    | StopAttempt
    | Shrink
    | Submit
    | TellStandby
    | CancelJob
    | Requeue
    | Finish
    | Say
    | Comment
    | KeepRecord
    | AskSave
    | PutAway
)
