"""One machine without Slurm: the job is this process, its one node this host, so that `supervise run` works."""

import socket
from collections.abc import Iterable, Sequence
from typing import NoReturn

from supervisor.errors import NoSlurm
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.dependents import Waiting
from supervisor.slurm.facts import SlurmConfig, StepFacts
from supervisor.slurm.process import CallCount


class AbsentSlurm:
    """The `Backend` where there is no Slurm. Questions are answered from nothing; what needs Slurm raises `NoSlurm`."""

    def __init__(self, host: str | None = None) -> None:
        self.calls = CallCount()
        self.node = NodeName(host or socket.gethostname().partition(".")[0] or "localhost")

    async def job(self, job: JobId, *, deadline_s: float) -> JobFacts:
        """A running job on this machine, without an end."""
        del deadline_s
        return JobFacts(job_id=job, state="RUNNING", nodes=(self.node,), batch_host=self.node, requeue=False)

    async def nodes(self, names: Iterable[NodeName], *, deadline_s: float) -> tuple[NodeState, ...]:
        """This machine is up; others are not known."""
        del deadline_s
        return tuple(NodeState(node=name, states=("ALLOCATED",)) for name in names if name == self.node)

    async def steps(self, job: JobId, *, deadline_s: float) -> tuple[StepFacts, ...]:
        """No steps."""
        del job, deadline_s
        return ()

    async def node_names(self, *, deadline_s: float) -> frozenset[NodeName]:
        """This machine."""
        del deadline_s
        return frozenset({self.node})

    async def partition_nodes(self, partition: str, *, deadline_s: float) -> tuple[NodeState, ...]:
        """No partitions."""
        del partition, deadline_s
        return ()

    async def node_address(self, node: NodeName, *, deadline_s: float) -> tuple[str, int]:
        """No slurmd to probe: raises `NoSlurm`."""
        del deadline_s
        _refuse(f"probe {node}")

    async def config(self, *, deadline_s: float) -> SlurmConfig:
        """Slurm's own defaults, with no version."""
        del deadline_s
        return SlurmConfig()

    async def preempt_mode(self, job: JobFacts, *, deadline_s: float) -> str:
        """Nobody takes this machine."""
        del job, deadline_s
        return ""

    async def shrink(self, job: JobId, keep: Iterable[NodeName], *, deadline_s: float) -> None:
        """Raises `NoSlurm`."""
        del keep, deadline_s
        _refuse(f"shrink {job}")

    async def requeue(self, job: JobId, *, deadline_s: float) -> None:
        """Raises `NoSlurm`."""
        del deadline_s
        _refuse(f"requeue {job}")

    async def exclude(
        self, job: JobId, names: Iterable[NodeName], *, nodes: int, required: Iterable[NodeName] = (), deadline_s: float
    ) -> None:
        """Raises `NoSlurm`."""
        del names, nodes, required, deadline_s
        _refuse(f"exclude nodes from {job}")

    async def waiting(self, *, deadline_s: float) -> tuple[Waiting, ...]:
        """No queue."""
        del deadline_s
        return ()

    async def depend(self, jobs: Sequence[JobId], dependency: str, *, deadline_s: float) -> None:
        """Raises `NoSlurm`."""
        del dependency, deadline_s
        _refuse(f"change jobs {', '.join(jobs)}")

    async def update_comment(self, job: JobId, text: str, *, deadline_s: float) -> None:
        """Nobody would read it: nothing happens."""

    async def cancel_job(self, job: JobId, *, deadline_s: float) -> None:
        """Raises `NoSlurm`."""
        del deadline_s
        _refuse(f"cancel {job}")

    async def cancel_steps(self, steps: Sequence[str], *, deadline_s: float) -> None:
        """There can be none to cancel: raises `NoSlurm` where one is named."""
        del deadline_s
        if steps:
            _refuse(f"cancel steps {', '.join(steps)}")


def _refuse(what: str) -> NoReturn:
    raise NoSlurm(f"cannot {what}: this run is on one machine without Slurm; stop its processes directly")
