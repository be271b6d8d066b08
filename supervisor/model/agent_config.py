"""What an agent is told when it starts: one JSON file in the run folder, the same for every node."""

from typing import Literal

from supervisor.model.base import Fact
from supervisor.model.ids import JobId, NodeName, RunId


class AgentConfig(Fact, frozen=True, kw_only=True):
    """Everything an agent needs to know; secrets are here because the file is 0600, never in argv or environment."""

    run_id: RunId
    job_id: JobId
    """As `SLURM_JOB_ID` reads in the ranks: digits, also for a task of an array; "0" without Slurm."""
    restarts: int = 0
    """How often Slurm had started the job again."""
    nodes: tuple[NodeName, ...] = ()
    """The job's nodes in Slurm's order: a node's place spreads the agents' beats over the second."""
    transport: Literal["mqtt", "stdout"] = "mqtt"
    broker_host: str = ""
    broker_port: int = 0
    user: str = ""
    password: str = ""
    ca_pem: str = ""
    """The run's own certificate in PEM; empty: no TLS."""
    lease_s: float = 30.0
    """Nobody heard for this long: the agent kills its ranks."""
    run_dir: str = ""
    """Where `term.json` is; empty: no lease can be read, only bus and probe count."""
    folders: tuple[str, ...] = ()
    """Folders the job needs, named missing in the facts where they do not answer."""
    batch_host: NodeName
    """Its agent never fences: what it cannot hear there is on its own machine."""
    slurmd_address: str = ""
    """`host:port` of the batch host's slurmd; a newer one in `term.json` goes first."""
    take_over: tuple[str, ...] = ()
    """The command that goes on with the run once the batch host is dead; empty: nobody does."""
