"""What the rest of the product asks of Slurm, whoever answers: the command line, pyslurm, or nobody.

Every call has a deadline in seconds. It raises `SlurmTimeout` when there was no answer in time (what was asked may have
been done), `SlurmFailed` when Slurm refused, `NoSlurm` where there is none. A failed query is never an empty answer.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.dependents import Waiting
from supervisor.slurm.facts import SlurmConfig, StepFacts
from supervisor.slurm.process import CallCount


class Backend(Protocol):
    """Reads and acts of one user on one cluster."""

    calls: CallCount

    async def job(self, job: JobId, *, deadline_s: float) -> JobFacts:
        """The job as Slurm sees it now."""

    async def nodes(self, names: Iterable[NodeName], *, deadline_s: float) -> tuple[NodeState, ...]:
        """The state of these nodes."""

    async def steps(self, job: JobId, *, deadline_s: float) -> tuple[StepFacts, ...]:
        """The running steps of the job, the batch step and Slurm's own included."""

    async def node_names(self, *, deadline_s: float) -> frozenset[NodeName]:
        """Every node of the cluster."""

    async def partition_nodes(self, partition: str, *, deadline_s: float) -> tuple[NodeState, ...]:
        """Every node of a partition with its state."""

    async def node_address(self, node: NodeName, *, deadline_s: float) -> tuple[str, int]:
        """Host and port of the node's slurmd."""

    async def config(self, *, deadline_s: float) -> SlurmConfig:
        """The cluster's settings; asked once and kept."""

    async def preempt_mode(self, job: JobFacts, *, deadline_s: float) -> str:
        """What becomes of the job when another one takes its nodes: `REQUEUE`, `CANCEL`, ...; empty: not known."""

    async def shrink(self, job: JobId, keep: Iterable[NodeName], *, deadline_s: float) -> None:
        """Leave the job only these nodes."""

    async def requeue(self, job: JobId, *, deadline_s: float) -> None:
        """End the job and queue it again under its id."""

    async def exclude(
        self, job: JobId, names: Iterable[NodeName], *, nodes: int, required: Iterable[NodeName] = (), deadline_s: float
    ) -> None:
        """Where a requeued job may not start, and with how many nodes."""

    async def waiting(self, *, deadline_s: float) -> tuple[Waiting, ...]:
        """Every job in the queue that waits for another one, as far as the user may see it."""

    async def depend(self, jobs: Sequence[JobId], dependency: str, *, deadline_s: float) -> None:
        """What these pending jobs wait for from now on."""

    async def update_comment(self, job: JobId, text: str, *, deadline_s: float) -> None:
        """Set the job's Comment."""

    async def cancel_job(self, job: JobId, *, deadline_s: float) -> None:
        """End the job."""

    async def cancel_steps(self, steps: Sequence[str], *, deadline_s: float) -> None:
        """End these steps with as few calls as fit; steps that have ended meanwhile are no error."""
