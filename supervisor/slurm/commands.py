"""Slurm's commands as argument lists. Pure: nothing is run here.

`job` is the raw `SLURM_JOB_ID` or, for `update`, `requeue` and `show_job`, also `17_3` for a task of an array.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from supervisor.model import job_comment
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.hostlist import compress

AGENT_STEP: Final = "supervise"
"""The name of the agents' step: every other step of the job is the user's."""
STEPS_AT_ONCE: Final = 500
"""Steps that one scancel is given, far below the kernel's limit of an argument list."""
# What changes the output or the target of Slurm's commands, by prefix. SLURM_CONF alone must stay.
_STEERING: Final = ("SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "SQUEUE_", "SINFO_", "SCONTROL_", "SCANCEL_")


def clean_environment(base: Mapping[str, str], *, job: JobId | None = None) -> dict[str, str]:
    """The environment for Slurm's commands: nothing of the job steers them, times come as epoch seconds.

    Without `SLURM_JOB_ID` scontrol writes no `slurm_job_<id>_resize.sh`; with `job` it is set, for a step of that job.
    """
    kept = {name: value for name, value in base.items() if name == "SLURM_CONF" or not name.startswith(_STEERING)}
    own = {"SLURM_TIME_FORMAT": "%s"} if job is None else {"SLURM_JOB_ID": job}
    return {**kept, **own, "LC_ALL": "C"}


def show_job(job: JobId) -> list[str]:
    """All records of the job, one per line (an array's raw id may name several)."""
    return ["scontrol", "-o", "show", "job", job]


def show_accounts(jobs: Sequence[JobId]) -> list[str]:
    """What accounting keeps of these jobs, also after the controller has forgotten them: id, state and nodes."""
    return ["sacct", "-X", "-n", "-P", "-j", ",".join(jobs), "-o", "JobID,State,NodeList"]


def list_my_recent_jobs() -> list[str]:
    """The user's jobs that the controller still knows, ended ones too: as `show_accounts`."""
    return ["squeue", "--me", "-h", "-r", "-t", "all", "-o", "%i|%T|%N"]


def list_waiting() -> list[str]:
    """Every pending job that the user may see: number (of an array its own), uid, dependency and name."""
    return ["squeue", "-a", "-h", "-t", "PD", "-o", "%F|%U|%E|%j"]


def show_nodes(names: Iterable[NodeName] = ()) -> list[str]:
    """These nodes, one per line; no name: all nodes."""
    wanted = compress(names)
    return ["scontrol", "-o", "show", "node", *([wanted] if wanted else [])]


def show_steps(job: JobId) -> list[str]:
    """The job's steps, one per line; unlike `squeue -s` it knows those of a step manager too."""
    return ["scontrol", "-o", "show", "step", job]


def show_config() -> list[str]:
    """The cluster's configuration, one setting per line."""
    return ["scontrol", "show", "config"]


def list_node_names() -> list[str]:
    """Every node name of the cluster as hostlists."""
    return ["sinfo", "-h", "-N", "-o", "%N"]


def list_partition(partition: str) -> list[str]:
    """Node name and state of every node of a partition."""
    return ["sinfo", "-h", "-N", "-p", partition, "-o", "%N|%T"]


def show_partition(partition: str) -> list[str]:
    """The partition's settings on one line, though it be a hidden one."""
    return ["scontrol", "-a", "-o", "show", "partition", partition]


def show_qos_modes() -> list[str]:
    """Name and PreemptMode of every QOS that the user may see."""
    return ["sacctmgr", "-nP", "show", "qos", "format=Name,PreemptMode"]


def shrink(job: JobId, keep: Iterable[NodeName]) -> list[str]:
    """Leave the job only these nodes; the batch host must be among them."""
    return _update(job, NodeList=compress(keep))


def comment(job: JobId, text: str) -> list[str]:
    """Set the job's Comment, on one line and cut to `job_comment.LIMIT`."""
    # Text from a log may hold a NUL, which no argument can.
    printable = "".join(char if char.isprintable() else " " for char in text)
    return _update(job, Comment=" ".join(printable.split())[: job_comment.LIMIT])


def exclude(job: JobId, names: Iterable[NodeName], *, nodes: int, required: Iterable[NodeName] = ()) -> list[str]:
    """Where a requeued job may not start again, and how many nodes it needs.

    After a shrink 22.05 keeps the shrunk count and the old list of required nodes: both are written anew.
    """
    return _update(job, ExcNodeList=compress(names), NumNodes=str(nodes), ReqNodeList=compress(required))


def depend(jobs: Sequence[JobId], dependency: str) -> list[str]:
    """What these pending jobs wait for from now on."""
    return _update(JobId(",".join(jobs)), Dependency=dependency)


def requeue(job: JobId) -> list[str]:
    """Requeue a running job; never `requeuehold`, which would leave it held if we die in between."""
    return ["scontrol", "requeue", job]


def cancel_job(job: JobId) -> list[str]:
    """End the whole job."""
    return ["scancel", job]


def cancel_steps(steps: Sequence[str]) -> list[list[str]]:
    """End these steps (`12.0`): as few commands as fit."""
    return [["scancel", *steps[at : at + STEPS_AT_ONCE]] for at in range(0, len(steps), STEPS_AT_ONCE)]


def agent_step(
    job: JobId,
    nodes: Sequence[NodeName],
    command: Sequence[str],
    *,
    memory_mb: int,
    stdin: Literal["none", "all"] = "none",
) -> list[str]:
    """The one step that runs an agent on each node, beside whatever else runs there.

    `--overlap` keeps it from taking CPUs or GPUs from the user's steps, `--no-kill -K0` from ending with one node,
    a memory limit of its own from being chosen in the ranks' place, and `--gres` unset lets it see the job's GPUs.
    """
    count = str(len(nodes))
    return [
        "srun",
        "--overlap",
        "--no-kill",
        "-K0",
        "--mpi=none",
        "--cpu-bind=none",
        f"--mem={memory_mb}",
        f"--input={stdin}",
        "--jobid",
        job,
        "-w",
        compress(nodes),
        "-N",
        count,
        "-n",
        count,
        "--ntasks-per-node=1",
        "-J",
        AGENT_STEP,
        *command,
    ]


def task_on(job: JobId, node: NodeName, command: Sequence[str], *, name: str, memory_mb: int) -> list[str]:
    """One task on one node of a running job, beside whatever else runs there; not an agent's, and not the user's."""
    where = ["--jobid", job, "-w", node, "-N", "1", "-n", "1", "-J", name]
    beside = ["--overlap", "-K0", "--mpi=none", "--cpu-bind=none", f"--mem={memory_mb}", "--input=none"]
    return ["srun", *beside, *where, *command]


def attach(step: str) -> list[str]:
    """The step's output with rank labels (`0: text`); give it an empty stdin."""
    return ["sattach", "-l", step]


def _update(job: JobId, **fields: str) -> list[str]:
    return ["scontrol", "update", f"JobId={job}", *(f"{key}={value}" for key, value in fields.items())]
