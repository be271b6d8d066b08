"""Where this supervisor runs: the job, its nodes, the batch host, as Slurm's environment tells."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.hostlist import expand


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Facts of the environment; they do not change while the job runs."""

    job_id: JobId
    """As people and scontrol name it: `17_3` for a task of an array."""
    raw_job_id: JobId
    """SLURM_JOB_ID: what steps and processes of the job carry."""
    nodes: tuple[NodeName, ...]
    here: NodeName
    """The node this process runs on: the batch host."""
    restarts: int = 0
    is_slurm: bool = True
    own_step: str = ""
    """The step that this process is part of (`17.0`), where it was started inside one and by no batch script."""


def read(env: Mapping[str, str] = os.environ) -> Surroundings:
    """The surroundings; without Slurm one machine that is its own only node."""
    raw = env.get("SLURM_JOB_ID", "")
    if not raw:
        here = NodeName(platform.node() or "localhost")
        return Surroundings(job_id=JobId("0"), raw_job_id=JobId("0"), nodes=(here,), here=here, is_slurm=False)
    nodes = tuple(NodeName(name) for name in expand(env.get("SLURM_JOB_NODELIST", "")))
    here = NodeName(env.get("SLURMD_NODENAME") or (nodes[0] if nodes else platform.node()))
    array, task = env.get("SLURM_ARRAY_JOB_ID", ""), env.get("SLURM_ARRAY_TASK_ID", "")
    return Surroundings(
        job_id=JobId(f"{array}_{task}" if array and task else raw),
        raw_job_id=JobId(raw),
        nodes=nodes or (here,),
        here=here,
        restarts=int(env.get("SLURM_RESTART_COUNT", "0") or 0),
        own_step=f"{raw}.{env['SLURM_STEP_ID']}" if env.get("SLURM_STEP_ID") else "",
    )
