"""Kinds of jobs that `supervise sbatch` refuses, or hands to sbatch as they are. Pure."""

from collections.abc import Mapping
from typing import Final

_CONTAINERS: Final = ("container-image", "container-name", "container", "container-id")
"""Of sbatch: pyxis' and Slurm's own. Each starts the batch script itself inside."""


def why_refused(options: Mapping[str, str]) -> str:
    """Why such a job must not be submitted, with what to do instead; empty: it may. `options`: what sbatch obeys."""
    named = next((name for name in _CONTAINERS if name in options), "")
    if not named:
        return ""
    value = options[named]
    option = f"--{named}={value}" if value else f"--{named}"
    return (
        f"{option} of sbatch puts the batch script itself into the container, where neither srun nor supervise is. "
        f"Leave it out there and give it to the ranks, in the script: srun {option} …"
    )


def why_not_watched(*, is_heterogeneous: bool) -> str:
    """Why such a job goes to sbatch as it is; empty: it is supervised."""
    return "a heterogeneous job is an allocation for each group, and only one could be watched" * is_heterogeneous
