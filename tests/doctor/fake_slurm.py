"""A PATH of fake Slurm commands that write down how they were called."""

from collections.abc import Mapping
from pathlib import Path

from tests.doctor.places import DATA

_CONFIG = DATA / "22.05" / "config.txt"


def fake_slurm(folder: Path, **scripts: str) -> Mapping[str, str]:
    """An environment with them; `scripts` replaces what one of them does. Calls stand in `folder/calls`."""
    answers = {
        "sbatch": 'case "$1" in --version) echo slurm 22.05.8;; *) echo "sbatch: Job 1 to start" >&2;; esac',
        "scontrol": f'case "$*" in "show config") cat {_CONFIG};; *) cat {DATA}/22.05/partitions.txt;; esac',
        "sinfo": 'echo "main*|up|4|idle|8|64000|gpu:8"',
        **dict.fromkeys(("scancel", "srun", "squeue", "sacct"), "true"),
        **scripts,
    }
    for name, text in answers.items():
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/calls\n{text}\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "SBATCH_ACCOUNT": "a1", "SLURM_JOB_ID": "5"}


def calls_of(folder: Path) -> list[str]:
    """What was called, in order."""
    return (folder / "calls").read_text(encoding="utf-8").splitlines()
