"""What Slurm's commands say beyond the job and node facts that all rooms share."""

from supervisor.model.base import Fact
from supervisor.model.facts import NodeState
from supervisor.model.ids import JobId, NodeName


class StepFacts(Fact, frozen=True, kw_only=True):
    """One step of a job."""

    step_id: str
    """`17.0`, `17.batch` or `17.extern`: as scancel and sattach take it."""
    name: str
    """`supervise` for the agents' step."""
    state: str = ""
    nodes: tuple[NodeName, ...] = ()
    tasks: int = 0

    @property
    def is_launched(self) -> bool:
        """Started by some srun: neither the batch script nor Slurm's own container of a job."""
        return self.step_id.rpartition(".")[2].split("+")[0].isdigit()


class NodeRecord(Fact, frozen=True, kw_only=True):
    """One node with where its slurmd is reached."""

    state: NodeState
    address: str = ""
    host_name: str = ""
    port: int | None = None
    """Set only where it differs from the cluster's SlurmdPort."""
    version: str = ""


class SlurmConfig(Fact, frozen=True, kw_only=True):
    """The settings of the cluster that matter here. Unset stays None."""

    version: str = ""
    """Slurm's own, `22.05.8`."""
    cluster: str = ""
    slurmd_ports: tuple[int, int] = (6818, 6818)
    """First and last port on which a slurmd may listen."""
    srun_ports: tuple[int, int] | None = None
    """Ports that a site keeps open between nodes for srun, and so for us."""
    kill_wait_s: float = 30.0
    """Between SIGTERM and SIGKILL when a job ends."""
    slurmd_timeout_s: float = 300.0
    """Silence after which Slurm calls a node down."""
    keeps_accounts: bool = False
    """A database is behind it; without one 22.05 refuses the second shrink of a job."""
    keeps_comments: bool = False
    """Comments of ended jobs are stored."""
    scheduler: tuple[str, ...] = ()
    """SchedulerParameters: `disable_job_shrink` is one."""
    has_step_manager: bool = False
    """SlurmctldParameters=enable_stepmgr."""


class QueuedJob(Fact, frozen=True, kw_only=True):
    """One of the user's jobs that has not ended."""

    job_id: JobId
    state: str
    submitted_at: float | None = None
    dependency: str = ""
    name: str = ""
