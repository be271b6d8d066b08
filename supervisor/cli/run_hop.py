"""From a shell outside the allocation's nodes (salloc on a login node) onto one of them, by a step. Pure.

The supervisor must run on a node of the job. The step is there for that alone: what Slurm tells a step about itself is
taken out again, so that the command's own sruns see the allocation as in the shell they were typed in.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from supervisor.cli.run_place import RunPlace

VARIABLE: Final = "SUPERVISE_HOP"
"""What the shell's environment said of the job, on its way through the step."""
_OF_STEPS: Final = ("SLURM_", "SRUN_", "PMI_", "PMIX_")
_OF_THE_NODE: Final = ("SLURMD_NODENAME", "SLURM_STEP_ID", "SLURM_CONF")
"""What the step knows better: where it is, which step it is, and where this node finds the configuration."""


def hop(place: RunPlace, program: Sequence[str], words: Sequence[str]) -> list[str]:
    """The command that says `supervise WORDS` again on the first node of the job.

    With all CPUs and GPUs that the job has there, shared with its other steps.
    """
    node = place.nodes[0]
    return [
        "srun",
        "-Q",
        "--overlap",
        "--cpu-bind=none",
        "--mpi=none",
        "-N1",
        "-n1",
        "-w",
        node,
        "-J",
        "supervise-run",
        *program,
        *words,
    ]


def packed(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of the step's srun: the shell's without what would steer it."""
    told = {name: value for name, value in env.items() if name.startswith(_OF_STEPS)}
    kept = {name: value for name, value in env.items() if name not in told}
    own = {name: env[name] for name in ("SLURM_JOB_ID", "SLURM_CONF") if name in env}
    return {**kept, **own, VARIABLE: json.dumps(told)}


def unpacked(env: Mapping[str, str]) -> dict[str, str] | None:
    """The shell's environment as it was, on the node; None where nobody hopped."""
    with suppress(ValueError):
        told = json.loads(env[VARIABLE]) if VARIABLE in env else None
        if isinstance(told, dict):
            kept = {name: value for name, value in env.items() if not name.startswith(_OF_STEPS) and name != VARIABLE}
            here = {name: env[name] for name in _OF_THE_NODE if name in env}
            return {**kept, **{str(name): str(value) for name, value in told.items()}, **here}
    return None
