"""The run that a person names on the command line: by job id, run id or path."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from supervisor.errors import NoSuchRun
from supervisor.ledger.array import has_task
from supervisor.ledger.find_run import find_run, task_of
from supervisor.model.ids import JobId, RunId
from supervisor.report.view import RunView, read_view

_ASK_LIMIT_S: Final = 5.0


def found_run(name: str) -> RunView:
    """One look at the run. Raises `NoSuchRun` or `RunFolderUnusable`."""
    view = read_view(find_run(name, workdir=Path.cwd(), env=os.environ, ask=_command_of))
    job, task = task_of(name)
    return _waiting_task(view, job, task) if task is not None and view.is_array else view


def _waiting_task(array: RunView, job: str, task: int) -> RunView:
    """A task of an array that has no folder yet. Raises `NoSuchRun` where there can be none."""
    if not has_task(array.run.array, task):
        raise NoSuchRun(f"job {job} has no task {task}: its array is {array.run.array}")
    run_id = RunId(f"{array.run.run_id}-{task}")
    run = msgspec.structs.replace(array.run, run_id=run_id)
    return replace(array, run=run, jobs=(JobId(f"{job}_{task}"),), is_array=False)


def _command_of(job_id: str) -> str:
    """Slurm's Command of a job that it still knows; empty where it does not, or there is no Slurm."""
    try:
        asked = subprocess.run(
            ["squeue", "-h", "-j", job_id, "-o", "%o"], capture_output=True, timeout=_ASK_LIMIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return next(iter(asked.stdout.decode(errors="surrogateescape").splitlines()), "")
