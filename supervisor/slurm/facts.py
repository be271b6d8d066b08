"""What Slurm's commands say beyond the job and node facts that all rooms share."""

from supervisor.model.base import Fact
from supervisor.model.facts import NodeState
from supervisor.model.ids import NodeName


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


class SlurmConfig(Fact, frozen=True, kw_only=True):
    """The settings of the cluster that matter here. Unset stays None."""

    version: str = ""
    """Slurm's own, `22.05.8`."""
    slurmd_ports: tuple[int, int] = (6818, 6818)
    """First and last port on which a slurmd may listen."""
    controllers: tuple[str, ...] = ()
    """`host:port` of each slurmctld, in the order in which they are asked."""
    srun_ports: tuple[int, int] | None = None
    """Ports that a site keeps open between nodes for srun, and so for us."""
    keeps_accounts: bool = False
    """A database is behind it; without one 22.05 refuses the second shrink of a job."""
    preempt_type: str = ""
    """`preempt/partition_prio`, `preempt/qos`; empty: no job takes another one's nodes."""
    preempt_mode: str = ""
    """Where partition or QOS say nothing else: `REQUEUE`, `CANCEL`, `SUSPEND`, ...; empty: off."""
