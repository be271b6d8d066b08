"""The supervisor's lease on a run: `term.json`, renewed every few seconds."""

from typing import Final

from supervisor.model.base import Fact
from supervisor.model.ids import JobId, NodeName

FILE: Final = "term.json"


class Term(Fact, frozen=True, kw_only=True):
    """Who supervises, and since when he was not heard: what agents read before they fence or take over."""

    generation: int = 0
    renewed_at: float = 0.0
    batch_host: NodeName = NodeName("")
    slurmd_address: str = ""
    voters: int = 0
    """Nodes that the job holds besides the batch host: whose majority may take over."""
    job_id: JobId = JobId("")
    """As `SLURM_JOB_ID` reads in the ranks; empty: an older version has written it."""
    restarts: int = 0
