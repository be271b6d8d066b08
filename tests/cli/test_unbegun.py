"""`why`, `status` and `list` ask Slurm about a job that has left no trace, and only then."""

import json
import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from supervisor.cli import list_runs, status, why
from supervisor.model.ids import RunId
from tests.report import makers

_FORGOTTEN = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
_NO_ACCOUNTS = "echo 'Slurm accounting storage is disabled' >&2; exit 1"
_MUTE = "echo 'slurm_load_jobs error: Access denied' >&2; exit 1"


class Programs:
    """Slurm's programs with one answer each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def answer(self, name: str, script: str) -> None:
        """What the program does; each call is counted."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho x >>{self.folder}/{name}.calls\n{script}\n")
        path.chmod(0o755)

    def calls(self, name: str) -> int:
        """How often it was called."""
        path = self.folder / f"{name}.calls"
        return path.read_text().count("x") if path.exists() else 0


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """A controller that has forgotten every job, and no accounting."""
    programs = Programs(tmp_path / "slurm-bin")
    programs.answer("scontrol", _FORGOTTEN)
    programs.answer("sacct", _NO_ACCOUNTS)
    programs.answer("squeue", "exit 0")
    monkeypatch.setenv("PATH", f"{programs.folder}:{os.environ['PATH']}")
    return programs


@pytest.fixture
def waiting(work: Path) -> Path:
    """A run whose job 17 was submitted, and no more is known."""
    return makers.make(work / ".supervise" / "llama-abc12", status=None)


def _json(command: click.Command, *arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(command, ["--json", *arguments], catch_exceptions=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("command", [why.command, status.command])
def test_a_job_cancelled_in_the_queue_is_told(slurm: Programs, waiting: Path, command: click.Command) -> None:
    """The controller keeps it for some minutes."""
    slurm.answer(
        "scontrol", "echo 'JobId=17 JobName=x UserId=u(1) JobState=CANCELLED Reason=None NodeList= NumNodes=1'"
    )
    answer = _json(command, "17")
    assert answer["standing"] == "cancelled"
    assert answer["conclusion"].startswith("Cancelled: job 17 was cancelled before it started.")
    assert slurm.calls("sacct") == 0


@pytest.mark.parametrize("command", [why.command, status.command])
def test_accounting_knows_longer(slurm: Programs, waiting: Path, command: click.Command) -> None:
    """A job that the controller has forgotten."""
    slurm.answer("sacct", "echo '17|CANCELLED by 20001|None assigned'")
    assert _json(command, "17")["standing"] == "cancelled"


def test_without_accounting_it_is_over_all_the_same(slurm: Programs, waiting: Path) -> None:
    """Nobody waits for it for ever."""
    answer = _json(why.command, "17")
    assert answer["standing"] == "unstarted"
    assert "Slurm no longer knows job 17; it never started" in answer["conclusion"]


def test_a_slurm_without_an_answer_is_no_end(slurm: Programs, waiting: Path) -> None:
    """A failed query is never an empty answer."""
    slurm.answer("scontrol", _MUTE)
    assert _json(why.command, "17")["standing"] == "waiting"
    slurm.answer("squeue", _MUTE)
    assert [one["standing"] for one in _json(list_runs.command)["runs"]] == ["waiting"]


def test_a_list_asks_once_for_all(slurm: Programs, waiting: Path, work: Path) -> None:
    """What is in the queue waits, tasks of an array too; what is not, does not."""
    for job in (18, 19):
        run = makers.run_file(run_id=RunId(f"r-{job}"), array="0-3" if job == 19 else "")
        makers.make(work / ".supervise" / f"r-{job}", run=run, status=None, jobs=str(job))
    slurm.answer("squeue", "echo '18|PENDING|'; echo '19_2|CANCELLED|'; echo '19_3|PENDING|'")
    found = {one["job_id"]: one["standing"] for one in _json(list_runs.command)["runs"]}
    assert found == {"17": "unstarted", "18": "waiting", "19": "waiting"}
    assert [slurm.calls(name) for name in ("squeue", "sacct", "scontrol")] == [1, 1, 0]


def test_a_list_tells_a_job_that_ran_without_supervision(slurm: Programs, waiting: Path) -> None:
    """It did not just vanish: somebody has to look. The accounts know it longest."""
    for program in ("squeue", "sacct"):
        slurm.answer(program, "echo '17|FAILED|node[001-002]'")
        assert [one["standing"] for one in _json(list_runs.command)["runs"]] == ["ended"]
        slurm.answer(program, "exit 0")


def test_a_task_that_has_only_its_folder_is_known_by_its_array(slurm: Programs, work: Path) -> None:
    """Its supervisor has not claimed it yet, or never could."""
    run = makers.run_file(array="0-3")
    makers.make(work / ".supervise" / "llama-abc12", run=run, status=None)
    makers.make(work / ".supervise" / "llama-abc12-2", run=run, status=None, jobs="")
    slurm.answer("scontrol", "echo 'JobId=19 ArrayJobId=17 ArrayTaskId=2 JobState=PENDING Reason=Priority NodeList='")
    slurm.answer("squeue", "echo '17_2|PENDING|'")
    answer = _json(why.command, "17_2")
    assert (answer["job_id"], answer["run_id"]) == ("17_2", "llama-abc12-2")
    assert answer["conclusion"].startswith("Waiting: job 17_2 is in the queue (Priority).")
    assert [(one["job_id"], one["standing"]) for one in _json(list_runs.command)["runs"]] == [("17_2", "waiting")]


def test_slurm_is_not_asked_about_a_run_that_has_begun(slurm: Programs, work: Path) -> None:
    """Its folder says all."""
    makers.make(work / ".supervise" / "llama-abc12", status=makers.status())
    for command in (why.command, status.command):
        _json(command, "17")
    _json(list_runs.command)
    assert [slurm.calls(name) for name in ("scontrol", "sacct", "squeue")] == [0, 0, 0]


def test_a_run_that_has_not_begun_names_no_log(slurm: Programs, waiting: Path) -> None:
    """There is none yet."""
    told = CliRunner().invoke(why.command, ["17"]).stdout.splitlines()
    assert told[-1] == f"Run llama-abc12; its folder: {waiting}"
