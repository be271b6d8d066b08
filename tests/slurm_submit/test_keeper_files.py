"""The sh stub between guard and keeper, run for real."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.slurm.keeper_files import stub

_KEEPER = "import json, os, sys\nprint(json.dumps([sys.argv[1:], os.getpid(), sys.flags.isolated]))\n"
_SCRIPT = '#!/bin/sh\necho "plain $SUPERVISE_ATTEMPT $$ $*"\nexit 6\n'


@pytest.fixture(params=["run-abc12", "it's a\nrun"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run folder with everything that starts the keeper."""
    made = tmp_path / str(request.param)
    (made / "submitted").mkdir(parents=True)
    (made / "submitted/train.sh").write_text(_SCRIPT)
    (made / "run.json").write_text("{}")
    (made / "keeper.py").write_text(_KEEPER)
    (made / "boot.py").write_text("")
    (made / "keeper").write_bytes(stub(folder=str(made), python=sys.executable, copied=("submitted",)))
    (made / "keeper").chmod(0o700)
    (tmp_path / "slurm_script").write_text(_SCRIPT)
    (tmp_path / "slurm_script").chmod(0o700)
    return made


def _start(folder: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SUPERVISE"))}
    return subprocess.run(
        [folder / "keeper", folder.parent / "slurm_script", "a b", ""],
        env={**clean, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_keeper_gets_folder_script_and_arguments_in_this_process(folder: Path) -> None:
    """The batch shell's pid becomes the keeper, isolated from the user's Python settings."""
    done = _start(folder, PYTHONPATH="/nonexistent")
    argv, _, isolated = json.loads(done.stdout)
    assert argv == [str(folder), str(folder.parent / "slurm_script"), "a b", ""]
    assert isolated == 1


def test_without_our_python_the_script_runs_unsupervised(folder: Path) -> None:
    """In a container or on another architecture the job runs as plain sbatch would run it, and says so."""
    (folder / "keeper").write_bytes(stub(folder=str(folder), python="/nonexistent/python", copied=()))
    done = _start(folder)
    assert done.returncode == 6
    assert done.stdout.startswith("plain 1 ")
    assert "without supervision" in done.stderr


def test_each_task_of_an_array_gets_a_folder_of_its_own(folder: Path) -> None:
    """Made from the array's at the start; the array's own folder stays a template."""
    done = _start(folder, SLURM_ARRAY_TASK_ID="3")
    task = Path(f"{folder}-3")
    assert json.loads(done.stdout)[0][0] == str(task)
    assert sorted(path.name for path in task.iterdir()) == ["boot.py", "keeper", "keeper.py", "run.json", "submitted"]
    assert task.stat().st_mode & 0o777 == 0o700


def test_a_requeued_task_finds_its_folder_again(folder: Path) -> None:
    """What the first start left in it stays."""
    _start(folder, SLURM_ARRAY_TASK_ID="3")
    (Path(f"{folder}-3") / "events.jsonl").write_text("x")
    assert _start(folder, SLURM_ARRAY_TASK_ID="3").returncode == 0
    assert (Path(f"{folder}-3") / "events.jsonl").read_text() == "x"


def test_a_task_without_a_folder_runs_unsupervised(folder: Path) -> None:
    """Two tasks never share one: rather none is supervised."""
    (folder / "run.json").unlink()
    done = _start(folder, SLURM_ARRAY_TASK_ID="3")
    assert done.stdout.startswith("plain 1 ")
    assert "cannot be made" in done.stderr
    assert list(folder.parent.glob("*-3*")) == []
