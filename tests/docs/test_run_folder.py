"""Every file that a real run leaves is in the table of docs/contracts.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

from supervisor.model.ids import RunId
from supervisor.settings import Settings
from supervisor.slurm.keeper_files import programs
from supervisor.slurm.sbatch_options import parse
from supervisor.slurm.submission import Place, Request, plan
from tests.docs.pages import files_in, rows, section

_RUN_S = 60.0


def _patterns() -> list[re.Pattern[str]]:
    """The files of the table; of a folder with numbers, those that its row names."""
    found = []
    for name, _, text in rows(section("docs/contracts.md", "Run folder")):
        for part in re.findall(r"`([^`]+)`", name):
            inside = files_in(text) if part.endswith("/") else [""]
            found += [_pattern(part + each) for each in inside]
        found += [_pattern(part) for part in re.findall(r"`([a-z.]+\.1)`", text)]
    return found


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"<[^>]*>", "[^/]+", re.escape(name).replace("NNN", r"\d{3}")))


def _untold(names: list[str]) -> list[str]:
    return [name for name in names if not any(pattern.fullmatch(name) for pattern in _patterns())]


def test_what_a_run_leaves_is_told(tmp_path: Path) -> None:
    """A run of a command that fails, with its incident, from its first file to its last."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SUPERVISE_"))}
    command = [sys.executable, "-m", "supervisor.cli.main", "--transport", "stdout", "run", "--", "sh", "-c", "exit 3"]
    own = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "none")}
    ended = subprocess.run(command, cwd=tmp_path, env={**env, **own}, capture_output=True, timeout=_RUN_S, check=False)
    assert ended.returncode == 3
    (run,) = (tmp_path / ".supervise").glob("*/run.json")
    names = sorted(str(path.relative_to(run.parent)) for path in run.parent.rglob("*") if not path.is_dir())
    assert "incidents/001/verdict.json" in names
    assert not _untold(names)


def test_what_a_submission_leaves_is_told() -> None:
    """Also for a script that no shell reads, which is carried by one of ours."""
    request = Request(
        command=parse(["train.py"]),
        text="#!/usr/bin/env python3\nprint(1)\n",
        path="/home/u/train.py",
        workdir="/home/u",
        env={},
    )
    place = Place(run_id=RunId("train-abcde"), folder="/r", created_at=0.0, python="/p", programs=programs())
    files = sorted(plan(request, Settings(), {}, place).files)
    assert {"keeper", "keeper.py", "script/train.py", "submitted/train.py"} <= set(files)
    assert not _untold(files)


def test_a_file_that_nobody_told_of_is_noticed() -> None:
    """The checks above are not empty by accident."""
    assert _untold(["run.json", "attempts/001/environment.json", "new.json", "attempts/001/new.json"]) == [
        "new.json",
        "attempts/001/new.json",
    ]
