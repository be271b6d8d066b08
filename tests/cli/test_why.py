"""`why`, `status` and `list` as a user and a script see them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

from supervisor.cli import list_runs, report, status, why
from supervisor.cli.main import cli
from supervisor.errors import NoSuchRun
from supervisor.ledger.find_run import IndexLine, note_run
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, JobId, RunId
from supervisor.model.verdict import Evidence
from supervisor.report.conclusion import RESUBMIT
from tests.report import makers

_HEAD = {"schema", "version", "cluster", "job_id", "run_id", "log", "conclusion", "blockers"}


def _run(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def _json(command: click.Command, *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_run(command, "--json", *arguments).stdout)
    assert set(answer) >= _HEAD
    return answer


@pytest.fixture
def base(work: Path) -> Path:
    """Where the runs of this folder lie."""
    return work / ".supervise"


@pytest.fixture
def living(base: Path) -> Path:
    """A run that lost a node and goes on."""
    now = makers.status(updated_at=time.time())
    return makers.make(base / "llama-abc12", makers.lost_node(), status=now)


@pytest.mark.parametrize("name", ["17", "llama-abc12", ".supervise/llama-abc12"])
def test_a_run_is_found_by_whatever_a_person_has(living: Path, name: str) -> None:
    """A job id, a run id, a path."""
    lines = _run(why.command, name).stdout.splitlines()
    assert lines[0].startswith("Running (attempt 2, step 58,410). 1 interruption since ")
    assert any("hardware/node_unreachable  node003" in line for line in lines)
    assert lines[-2:] == [
        f"Evidence of the last interruption, such as job.log: {living}/incidents/001",
        f"Run llama-abc12; all events: {living}/events.jsonl",
    ]


def test_an_unknown_run_is_told(work: Path) -> None:
    """The caller turns this into exit code 4."""
    with pytest.raises(NoSuchRun, match="999999"):
        _run(why.command, "999999")


def test_a_folder_that_is_no_runs_is_told(work: Path) -> None:
    """Rather than that no job of this name is known."""
    with pytest.raises(NoSuchRun, match=r"^\. is a folder, but not of a run"):
        _run(why.command, ".")
    with pytest.raises(NoSuchRun, match="no run or job '' is known"):
        _run(why.command, "")


def test_slurm_is_asked_for_a_job_of_another_folder(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Command names the run folder."""
    folder = makers.make(tmp_path / "else where" / ".supervise" / "llama-abc12", status=None, jobs="")
    squeue = tmp_path / "bin" / "squeue"
    squeue.parent.mkdir()
    squeue.write_text(f'#!/bin/sh\n[ "$*" = "-h -j 41 -o %o" ] && echo "{folder}/submitted/train.sh --lr 1"\n')
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{squeue.parent}:{os.environ['PATH']}")
    assert _json(why.command, "41")["run_id"] == "llama-abc12"


def test_a_script_gets_the_whole_incident(living: Path) -> None:
    """Under the names of the contract."""
    answer = _json(why.command, "17")
    assert (answer["job_id"], answer["run_id"], answer["blockers"]) == ("17", "llama-abc12", [])
    assert answer["log"] == f"{living}/events.jsonl"
    (incident,) = answer["incidents"]
    assert (incident["class"], incident["cause"], incident["nodes"]) == ("hardware", "node_unreachable", ["node003"])
    assert (incident["detection_s"], incident["recovery_s"], incident["action"]) == (2.2, 1.8, "relaunch_on_spare")
    assert answer["status"]["stage"] == "running"


def test_the_global_option_asks_for_json_too(living: Path) -> None:
    """`supervise --json why 17` and `supervise why --json 17` are the same."""
    first, second = (_run(cli, *words).stdout for words in (["--json", "why", "17"], ["why", "--json", "17"]))
    assert json.loads(first)["incidents"] == json.loads(second)["incidents"]


def test_a_cancelled_run_was_not_interrupted(base: Path) -> None:
    """The cancel is told, but apart from the incidents."""
    over = makers.status(stage="finished", exit_signal=15, conclusion="the job was cancelled")
    makers.make(base / "llama-abc12", makers.ended("user_cancel"), status=over)
    answer = _json(why.command, "17")
    assert answer["conclusion"].startswith("Cancelled")
    assert (answer["interruptions"], answer["incidents"]) == (0, [])
    assert [one["cause"] for one in answer["planned"]] == ["user_cancel"]
    assert (answer["exit_code"], answer["exit_signal"]) == (None, 15)


def test_a_stop_says_what_a_person_can_do(base: Path) -> None:
    """The table of causes knows some advice."""
    over = makers.status(stage="finished", exit_code=1)
    makers.make(base / "llama-abc12", makers.lost_node(), makers.own_bug(), status=over)
    lines = _run(why.command, "17").stdout.splitlines()
    assert lines[0].startswith("STOPPED, needs you: software/cuda_oom; the same failure as before")
    assert lines[1].startswith("  to do: a smaller batch")
    assert "  to do: read what happened: supervise why 17" in _run(status.command, "17").stdout.splitlines()
    assert "The job ended with exit code 1." in lines


def test_a_failure_that_was_only_observed_has_advice_too(base: Path) -> None:
    """The cause is the same, and nobody else does anything about it."""
    over = makers.status(stage="finished", exit_code=1, mode="observe")
    makers.make(base / "llama-abc12", makers.own_bug(action="observe"), status=over)
    lines = _run(why.command, "17").stdout.splitlines()
    assert lines[0].startswith("FAILED, needs you: software/cuda_oom")
    assert lines[1].startswith("  to do: a smaller batch")


def test_a_stop_without_special_advice_says_how_to_go_on(base: Path) -> None:
    """A node failed, and nothing need be changed before the next try."""
    over = makers.status(stage="finished", exit_code=1)
    record = makers.lost_node(action="stop", attempt=AttemptNo(2), action_text="Slurm ends the job")
    makers.make(base / "llama-abc12", record, status=over)
    assert _run(why.command, "17").stdout.splitlines()[1] == f"  to do: {RESUBMIT}"


def test_what_cost_nothing_is_not_told_as_a_loss(base: Path) -> None:
    """Less than a second of one node."""
    over = makers.status(stage="finished", exit_code=1)
    makers.make(base / "llama-abc12", makers.own_bug(lost_node_seconds=0.4), status=over)
    assert "Lost to interruptions" not in _run(why.command, "17").stdout


def test_a_silent_supervisor_is_told(base: Path) -> None:
    """With what to look at."""
    makers.make(base / "llama-abc12", status=makers.status(updated_at=time.time() - 42))
    for command in (why.command, status.command):
        lines = _run(command, "17").stdout.splitlines()
        assert "the supervisor has not written for 42 s" in lines[0]
        assert "squeue -j 17" in lines[1]
    assert _json(status.command, "17")["silent_s"] >= 42


def test_an_array_is_told_task_by_task(base: Path) -> None:
    """Each is a run of its own; before any has begun the array itself waits."""
    run = makers.run_file(array="0-3")
    makers.make(base / "llama-abc12", run=run, status=None)
    assert "has not begun" in _run(why.command, "llama-abc12").stdout
    makers.make(base / "llama-abc12-3", run=run, status=makers.status(updated_at=time.time()), jobs="17_3")
    for command in (why.command, status.command):
        lines = _run(command, "llama-abc12").stdout.splitlines()
        assert lines[0].startswith("Array 0-3, each task is a run of its own. 1 run: 1 running.")
        assert lines[0].endswith("3 have not begun.")
        assert lines[2].split()[1:3] == ["llama-abc12-3", "running"]
        assert lines[-1] == "One task: supervise why 17_<task>"
        answer = _json(command, "17")
        assert ([one["run_id"] for one in answer["tasks"]], answer["not_begun"]) == (["llama-abc12-3"], 3)
    assert _json(why.command, "17_3")["run_id"] == "llama-abc12-3"
    assert [one["run_id"] for one in _json(list_runs.command)["runs"]] == ["llama-abc12-3"]


@pytest.mark.parametrize("command", [why.command, status.command])
def test_a_task_that_waits_is_not_told_as_its_array(base: Path, command: click.Command) -> None:
    """It has no folder yet; one that the array does not have is refused."""
    run = makers.run_file(array="0-6:3%1")
    makers.make(base / "llama-abc12", run=run, status=None)
    makers.make(base / "llama-abc12-3", run=run, status=makers.status(updated_at=time.time()), jobs="17_3")
    answer = _json(command, "17_6")
    assert (answer["run_id"], answer["job_id"], answer["standing"]) == ("llama-abc12-6", "17_6", "waiting")
    with pytest.raises(NoSuchRun, match=r"job 17 has no task 5: its array is 0-6:3%1"):
        _run(command, "17_5")


def test_the_status_shows_what_one_watches(living: Path) -> None:
    """Nodes, spares, bad nodes, pace, limits."""
    now = makers.status(
        updated_at=time.time(), step_s=2.31, bad={"node003": "does not answer"}, transport="mqtt", restarts=1
    )
    (living / "status.json").write_bytes(encode(now))
    text = _run(status.command, "17").stdout
    assert "node001, node002, node003 (4 of 4 heard); unused: node004" in text
    assert "node003: does not answer" in text
    assert "58,410, 2.31 s a step" in text
    assert "1 of at most 20" in text
    assert "17, mode act, beats over mqtt" in text


def test_a_run_without_beats_says_what_it_cannot_see(living: Path) -> None:
    """Running alone would be taken for progress."""
    (living / "status.json").write_bytes(encode(makers.status(updated_at=time.time(), step=None)))
    assert "  step      none reported yet; a hang shows early only where the script calls beat()" in (
        _run(status.command, "17").stdout
    )


def test_the_list_holds_runs_of_here_and_of_the_index(living: Path, tmp_path: Path) -> None:
    """Each once; a folder that was deleted is left out."""
    run = makers.run_file(run_id=RunId("far-zzzzz"))
    far = makers.make(tmp_path / "far" / "far-zzzzz", run=run, status=None, jobs="99")
    for folder in (far, living, tmp_path / "gone"):
        note_run(IndexLine(run_id=RunId(folder.name), folder=str(folder), job_id=JobId("99")), os.environ)
    answer = _json(list_runs.command)
    assert {one["run_id"]: one["standing"] for one in answer["runs"]} == {
        "llama-abc12": "running",
        "far-zzzzz": "waiting",
    }
    assert _run(list_runs.command).stdout.splitlines()[0] == "2 runs: 1 running, 1 waiting. Nothing to do."


def test_a_long_list_is_cut(base: Path) -> None:
    """And says how to see the rest."""
    for number in range(32):
        makers.make(base / f"r-{number}", run=makers.run_file(run_id=RunId(f"r-{number}")), status=None)
    assert _run(list_runs.command).stdout.splitlines()[-1] == "and 2 more: supervise list --all"
    assert len(_run(list_runs.command, "--all").stdout.splitlines()) == 34


def test_a_real_process_answers_without_slurm_and_asyncio(living: Path, tmp_path: Path) -> None:
    """`why` must be there at once, also on a laptop: nothing heavy is loaded."""
    code = (
        "import sys; from supervisor.cli.main import cli; cli(['why', '17'], standalone_mode=False); "
        "print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "{'asyncio', 'fsspec', 'aiomqtt', 'structlog', 'rich', 'cryptography', 'tomllib'}))"
    )
    env = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-I", "-c", code], env=env, capture_output=True, text=True, timeout=60)  # noqa: PLW1510  # judged by its words
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_real_process_says_not_found_by_its_exit_code(work: Path) -> None:
    """One sentence on stderr and 4."""
    argv = [sys.executable, "-I", "-m", "supervisor.cli.main", "why", "999999"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("supervise: no run or job 999999 is known here")


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_an_answer_for_a_ticket_holds_no_secret(base: Path, arguments: tuple[str, ...]) -> None:
    """`why` and `report` with `--redact`; the owner's own screen stays whole."""
    record = makers.lost_node(opened_at=time.time() - 300, action="stop")
    said = Evidence(source="job.log:1", role="root", signature="x", text="login with --password swordfish")
    verdict = msgspec.structs.replace(record.verdict, summary="no answer to token=abcd1234", evidence=(said,))
    record = msgspec.structs.replace(record, verdict=verdict, action_text="see https://me:hunter2@x.example")
    run = makers.run_file(created_at=time.time() - 600)
    makers.make(
        base / "llama-abc12",
        record,
        run=run,
        status=makers.status(updated_at=time.time(), stage="finished", exit_code=1),
    )
    whole = _run(why.command, *arguments, "17").stdout
    assert all(secret in whole for secret in ("swordfish", "abcd1234", "hunter2"))
    for command, name in ((why.command, ("17",)), (report.command, ())):
        told = _run(command, "--redact", *arguments, *name).stdout
        assert not any(secret in told for secret in ("swordfish", "abcd1234", "hunter2"))
        assert "llama-abc12" in told
