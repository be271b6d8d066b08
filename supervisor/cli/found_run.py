"""The run that a person names on the command line: by job id, run id or path."""

import os
import subprocess
from pathlib import Path
from typing import Final

from supervisor.ledger.find_run import find_run
from supervisor.report.view import RunView, read_view

_ASK_LIMIT_S: Final = 5.0


def found_run(name: str) -> RunView:
    """One look at the run. Raises `NoSuchRun` or `RunFolderUnusable`."""
    return read_view(find_run(name, workdir=Path.cwd(), env=os.environ, ask=_command_of))


def _command_of(job_id: str) -> str:
    """Slurm's Command of a job that it still knows; empty where it does not, or there is no Slurm."""
    try:
        asked = subprocess.run(
            ["squeue", "-h", "-j", job_id, "-o", "%o"], capture_output=True, timeout=_ASK_LIMIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return next(iter(asked.stdout.decode(errors="surrogateescape").splitlines()), "")
