"""The environment of an attempt: what is changed in the batch script's own environment. Pure.

Slurm's variables describe the whole job as it was when it started. Where the attempt runs on fewer nodes (hidden
spares, nodes that left the job) they are rewritten together, for whatever reads them: mpirun, torchrun, the script.
A variable that was not set stays unset.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from supervisor.model.base import Fact
from supervisor.model.ids import AttemptNo, IncidentNo, NodeName, RunId
from supervisor.slurm.hostlist import compress, expand

DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""What a shell searches when PATH is not set at all."""
_COUNTED: Final = re.compile(r"(\d+)(?:\(x(\d+)\))?")
_MAYBE: Final = (
    *("SUPERVISE_RESUME_FROM", "SUPERVISE_RESUME_STEP", "SUPERVISE_INCIDENT", "SUPERVISE_HIDDEN", "SUPERVISE_SKIP"),
    "SUPERVISE_SAVE_FILE",
    *("SUPERVISE_RUN_FOLDER", "LC_CTYPE"),
)
"""What an attempt may do without, and must then not inherit."""
# More than this many nodes in `2(x…)` is a garbled value, not a job.
_MOST_NODES: Final = 1_000_000


class Changes(Fact, frozen=True, kw_only=True):
    """What the keeper does to its environment for one attempt."""

    set: dict[str, str]
    unset: tuple[str, ...] = ()


class Shim(Fact, frozen=True, kw_only=True):
    """Where the srun shim lies, and the srun that it stands before."""

    folder: str
    real: str
    function: str
    """Body of the exported shell function, for shells whose PATH is set anew."""


class Attempt(Fact, frozen=True, kw_only=True):
    """What an attempt's environment has to say."""

    run_id: RunId
    attempt: AttemptNo
    nodes: tuple[NodeName, ...] = ()
    """Nodes the attempt runs on; none: Slurm's variables are left alone (no Slurm)."""
    hidden: tuple[NodeName, ...] = ()
    """Nodes that are in the job but not in the attempt."""
    resume_from: str | None = None
    resume_step: int | None = None
    incident: IncidentNo | None = None
    skip: tuple[str, ...] = ()
    """What the program is asked to leave out."""
    run_folder: str = ""
    save_file: str = ""
    """The file that will ask to save and stop; empty: none is used."""
    beat_folder: str = ""
    """Folder that holds `supervise_beat.py` alone."""
    shim: Shim | None = None


def attempt_environment(base: Mapping[str, str], attempt: Attempt) -> Changes:
    """What to set and unset in `base` for this attempt.

    `base` is the environment with which Slurm started the batch script, as `/proc/<keeper>/environ` shows it: Python
    itself adds `LC_CTYPE` to its own copy under the C locale, and the script must not see that.
    """
    wanted = {
        **_own(attempt),
        **_logger_ids(base, attempt.run_id),
        **_paths(base, attempt),
        **_allocation(base, attempt.nodes),
        **({"LC_CTYPE": base["LC_CTYPE"]} if "LC_CTYPE" in base else {}),
    }
    return Changes(set=wanted, unset=tuple(name for name in _MAYBE if name not in wanted))


def parse_environ(block: bytes) -> dict[str, str]:
    """The variables of a `/proc/<pid>/environ`; bytes that are no UTF-8 survive a way there and back."""
    pairs = (item.split(b"=", 1) for item in block.split(b"\0") if b"=" in item)
    return {name.decode(errors="surrogateescape"): value.decode(errors="surrogateescape") for name, value in pairs}


def _own(attempt: Attempt) -> dict[str, str]:
    said = {
        "SUPERVISE_RUN_ID": attempt.run_id,
        "SUPERVISE_ATTEMPT": str(attempt.attempt),
        "SUPERVISE_RUN_FOLDER": attempt.run_folder or None,
        "SUPERVISE_RESUME_FROM": attempt.resume_from,
        "SUPERVISE_RESUME_STEP": None if attempt.resume_step is None else str(attempt.resume_step),
        "SUPERVISE_INCIDENT": None if attempt.incident is None else str(attempt.incident),
        "SUPERVISE_HIDDEN": compress(attempt.hidden) or None,
        "SUPERVISE_SKIP": "\n".join(attempt.skip) or None,
        "SUPERVISE_SAVE_FILE": attempt.save_file or None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _logger_ids(base: Mapping[str, str], run_id: RunId) -> dict[str, str]:
    """One id over all attempts, so that loggers go on with their run; a task of an array is a run of its own."""
    ours = {"WANDB_RUN_ID": run_id, "WANDB_RESUME": "allow", "PYTHONFAULTHANDLER": "1"}
    return {name: value for name, value in ours.items() if name not in base}


def _paths(base: Mapping[str, str], attempt: Attempt) -> dict[str, str]:
    changed: dict[str, str] = {}
    if attempt.beat_folder:
        changed["PYTHONPATH"] = ":".join(filter(None, (attempt.beat_folder, base.get("PYTHONPATH"))))
    if attempt.shim is not None and attempt.hidden:
        changed |= {
            "PATH": f"{attempt.shim.folder}:{base.get('PATH', DEFAULT_PATH)}",
            "BASH_FUNC_srun%%": attempt.shim.function,
            "SUPERVISE_SHIM_SRUN": attempt.shim.real,
            "SUPERVISE_SHIM_JOB": base.get("SLURM_JOB_ID", ""),
        }
    return changed


def _allocation(base: Mapping[str, str], nodes: Sequence[NodeName]) -> dict[str, str]:
    """Slurm's variables for these nodes; nothing where all nodes take part or the job is heterogeneous.

    A heterogeneous job has a set of them per group, and srun obeys only those.
    """
    whole = expand(base.get("SLURM_JOB_NODELIST") or base.get("SLURM_NODELIST") or "")
    if not nodes or not whole or set(nodes) == set(whole) or "SLURM_HET_SIZE" in base:
        return {}
    kept = tuple(node for node in whole if node in set(nodes))
    tasks = _tasks(base, whole, kept)
    rules: Mapping[str, Callable[[str], str]] = {
        "SLURM_JOB_NODELIST": lambda _: compress(nodes),
        "SLURM_NODELIST": lambda _: compress(nodes),
        "SLURM_JOB_NUM_NODES": lambda _: str(len(nodes)),
        "SLURM_NNODES": lambda _: str(len(nodes)),
        "SLURM_NTASKS": tasks,
        "SLURM_NPROCS": tasks,
        "SLURM_TASKS_PER_NODE": lambda old: _per_node(old, whole, kept),
        "SLURM_JOB_CPUS_PER_NODE": lambda old: _per_node(old, whole, kept),
        "SLURM_GPUS": lambda old: _share(old, len(kept), len(whole)),
    }
    return {name: rule(base[name]) for name, rule in rules.items() if name in base}


def _tasks(base: Mapping[str, str], whole: Sequence[NodeName], kept: Sequence[NodeName]) -> Callable[[str], str]:
    """A count of tasks for the kept nodes: what they held, or their share where Slurm did not say who held what."""

    def fewer(old: str) -> str:
        counts = _counts(base.get("SLURM_TASKS_PER_NODE", ""))
        if len(counts) == len(whole) and old == str(sum(counts)):
            return str(sum(count for count, node in zip(counts, whole, strict=True) if node in kept))
        return _share(old, len(kept), len(whole))

    return fewer


def _per_node(old: str, whole: Sequence[NodeName], kept: Sequence[NodeName]) -> str:
    """`2(x3),1` for the kept nodes only; a value that does not fit the nodes is left as it is."""
    counts = _counts(old)
    if len(counts) != len(whole):
        return old
    return _counted([count for count, node in zip(counts, whole, strict=True) if node in kept])


def _counts(text: str) -> list[int]:
    """`2(x3),1` as 2 2 2 1; empty where it is anything else."""
    matches = [_COUNTED.fullmatch(item) for item in text.split(",")]
    pairs = [(int(match[1]), int(match[2] or 1)) for match in matches if match]
    if len(pairs) != len(matches) or sum(times for _, times in pairs) > _MOST_NODES:
        return []
    return [count for count, times in pairs for _ in range(times)]


def _counted(counts: Sequence[int]) -> str:
    runs: list[tuple[int, int]] = []
    for count in counts:
        if runs and runs[-1][0] == count:
            runs[-1] = (count, runs[-1][1] + 1)
        else:
            runs.append((count, 1))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)


def _share(old: str, kept: int, whole: int) -> str:
    """Every count of `24` or `h100:16,a100:8` cut to the share of the kept nodes, never below one."""
    return re.sub(r"(?:(?<=:)|(?<=,)|^)\d+(?=,|$)", lambda count: str(max(1, int(count[0]) * kept // whole)), old)
