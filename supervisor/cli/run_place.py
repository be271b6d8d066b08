"""Where `supervise run` stands: on which nodes, as which job, and whether it can work from here. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.hostlist import expand


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """The allocation, or one machine without Slurm."""

    job_id: JobId
    """As people name it; empty without Slurm."""
    nodes: tuple[NodeName, ...]
    """At least one."""
    is_restarted: bool = False
    """Slurm has started this job again."""
    is_elsewhere: bool = False
    """This machine is none of the nodes."""
    is_behind_hop: bool = False
    """A `supervise run` on another machine has come here by a step."""


def run_place(env: Mapping[str, str], hostname: str, *, is_behind_hop: bool = False) -> RunPlace:
    """What the environment tells; without a job this machine alone."""
    job = env.get("SLURM_JOB_ID", "")
    if not job:
        return RunPlace(job_id=JobId(""), nodes=(NodeName(hostname),))
    array, task = env.get("SLURM_ARRAY_JOB_ID", ""), env.get("SLURM_ARRAY_TASK_ID", "")
    nodes = expand(env.get("SLURM_JOB_NODELIST", ""))
    here = env.get("SLURMD_NODENAME") or hostname.partition(".")[0]
    return RunPlace(
        job_id=JobId(f"{array}_{task}" if array and task else job),
        nodes=nodes or (NodeName(hostname),),
        is_restarted=env.get("SLURM_RESTART_COUNT", "0") not in {"", "0"},
        is_elsewhere=bool(nodes) and here not in nodes,
        is_behind_hop=is_behind_hop,
    )


def why_not_here(env: Mapping[str, str]) -> str:
    """Why nobody may supervise from here, with what to do instead; empty: one may."""
    tasks = env.get("SLURM_STEP_NUM_TASKS", "") if env.get("SLURM_JOB_ID") else ""
    if tasks.isdigit() and int(tasks) > 1:
        return f"this is one of {tasks} tasks of a step, and each would supervise: put it before srun, as in {_RIGHT}"
    return ""


def why_unsupervised(env: Mapping[str, str]) -> str:
    """Why the command is not supervised and simply runs; empty: it is supervised."""
    if env.get("SLURM_JOB_ID") and "SLURM_HET_SIZE" in env:
        return "the allocation is heterogeneous, and only the nodes of one group could be watched"
    return ""


_RIGHT = "`supervise run -- srun python train.py`"
