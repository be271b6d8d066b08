"""The environment that Slurm gave to the batch script, wherever a process of ours needs it.

On the batch host it is the keeper's. Agents on the other nodes are started from a clean one, and carry what that lacks
with them: whoever takes over from a dead batch host submits the run again as its user meant it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from supervisor.slurm.environment import parse_environ

CARRIED: Final = "SUPERVISE_JOB_ENVIRONMENT"
"""JSON: what differs from this process's own environment, null where a variable is to be taken away."""
_SLURMS: Final = ("SLURM_", "SLURMD_")
"""What slurmd sets anew for each step."""
_LIMIT_BYTES: Final = 100_000
"""The kernel takes 128 kB for one variable."""


def environment_of_the_job() -> Mapping[str, str]:
    """What Slurm gave to the batch script: our own copy has what Python added to it."""
    if CARRIED in os.environ:
        return unpacked(os.environ)
    try:
        return parse_environ(Path(f"/proc/{os.getppid()}/environ").read_bytes())
    except OSError:
        return dict(os.environ)


def packed(clean: Mapping[str, str], job: Mapping[str, str]) -> dict[str, str]:
    """The clean environment, with the job's own carried in one variable; without it where that is too much."""
    changes: dict[str, str | None] = {
        name: value for name, value in job.items() if clean.get(name) != value or name.startswith(_SLURMS)
    }
    changes |= dict.fromkeys(clean.keys() - job.keys())
    text = json.dumps(changes)  # surrogates of values that are no UTF-8 become escapes, and come back as they were
    return {**clean, CARRIED: text} if len(text) <= _LIMIT_BYTES else dict(clean)


def unpacked(env: Mapping[str, str]) -> dict[str, str]:
    """The job's environment, from one that carries it. What Slurm set for this step stands for nothing in it."""
    changes: dict[str, str | None] = json.loads(env[CARRIED])
    own = {name: value for name, value in env.items() if name != CARRIED and not name.startswith(_SLURMS)}
    merged = {**own, **changes}
    return {name: value for name, value in merged.items() if value is not None}
