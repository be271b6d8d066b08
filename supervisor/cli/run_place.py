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


def run_place(env: Mapping[str, str], hostname: str) -> RunPlace:
    """What the environment tells; without a job this machine alone."""
    job = env.get("SLURM_JOB_ID", "")
    if not job:
        return RunPlace(job_id=JobId(""), nodes=(NodeName(hostname),))
    array, task = env.get("SLURM_ARRAY_JOB_ID", ""), env.get("SLURM_ARRAY_TASK_ID", "")
    return RunPlace(
        job_id=JobId(f"{array}_{task}" if array and task else job),
        nodes=expand(env.get("SLURM_JOB_NODELIST", "")) or (NodeName(hostname),),
        is_restarted=env.get("SLURM_RESTART_COUNT", "0") not in {"", "0"},
    )


def why_not_here(env: Mapping[str, str], hostname: str) -> str:
    """Why a supervisor must not be started here, with what to do instead; empty: it may."""
    job = env.get("SLURM_JOB_ID", "")
    if not job:
        return ""
    tasks = env.get("SLURM_STEP_NUM_TASKS", "")
    if tasks.isdigit() and int(tasks) > 1:
        return f"this is one of {tasks} tasks of a step, and each would supervise: put it before srun, as in {_RIGHT}"
    nodes = expand(env.get("SLURM_JOB_NODELIST", ""))
    here = env.get("SLURMD_NODENAME") or hostname.partition(".")[0]
    if not nodes or here in nodes:
        return ""
    return (
        f"{here} is not among the nodes of job {job} ({env['SLURM_JOB_NODELIST']}), and the supervisor must run on "
        f"one of them. Go there: srun --jobid={job} --overlap --preserve-env --pty -N1 -n1 -w {nodes[0]} $SHELL, "
        "and say it again; or put it into a script and give that to `supervise sbatch`"
    )


_RIGHT = "`supervise run -- srun python train.py`"
