"""`supervise diagnose` as a user and a script see it."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from supervisor.cli.diagnose import command

_OOM = "[rank37]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 5 has a total\n"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_a_person_reads_the_conclusion_first(tmp_path: Path) -> None:
    """The first line tells class, cause, rank, confidence and whether a rerun helps; then proof and next step."""
    log = tmp_path / "slurm-1.out"
    log.write_text(_OOM)
    result = _run(str(log))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "software/cuda_oom on rank 37, node not to blame (0.93). A rerun without a change will fail the same way."
    )
    assert lines[2].startswith("  proof      slurm-1.out:1")
    assert any(line.startswith("  next") for line in lines)


def test_a_script_reads_one_object_per_line(tmp_path: Path) -> None:
    """Each path gives one line of JSON with every field of the contract."""
    log = tmp_path / "slurm-1.out"
    log.write_text(_OOM)
    result = _run("--json", str(log), str(log))
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first == second
    assert set(first) == {
        "path", "class", "cause", "confidence", "blame", "retryable", "exclude_nodes", "action", "summary", "evidence",
        "changed", "unread",
    }  # fmt: skip
    assert (first["class"], first["cause"], first["retryable"], first["action"]) == (
        "software", "cuda_oom", False, "stop",
    )  # fmt: skip
    assert first["blame"] == {"nodes": [], "gpus": [], "ranks": [37]}
    assert set(first["evidence"][0]) == {"source", "role", "signature", "at", "text"}


def test_no_verdict_is_exit_code_3(tmp_path: Path) -> None:
    """A script can branch on "not enough evidence"."""
    log = tmp_path / "slurm-1.out"
    log.write_text("step 1\n")
    result = _run(str(log))
    assert result.exit_code == 3
    assert result.stdout.startswith("unknown: not enough evidence")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    """It is told on stderr, the others are answered, and the exit code is 1."""
    log = tmp_path / "slurm-1.out"
    log.write_text(_OOM)
    result = _run("--json", str(tmp_path / "missing"), str(log))
    assert result.exit_code == 1
    assert "missing" in result.stderr
    assert json.loads(result.stdout)["cause"] == "cuda_oom"


def test_a_finished_run(tmp_path: Path) -> None:
    """A job that ended well is planned/completed, and there is nothing to do."""
    (tmp_path / "slurm.json").write_text('{"state": "COMPLETED", "exit_code": "0:0"}')
    result = _run("--json", str(tmp_path))
    answer = json.loads(result.stdout)
    assert (answer["class"], answer["cause"], answer["action"]) == ("planned", "completed", "none")


def test_a_verdict_for_a_ticket_holds_no_secret(tmp_path: Path) -> None:
    """With `--redact` neither the screen nor the JSON tells a token; without it the owner's screen stays whole."""
    log = tmp_path / "slurm-1.out"
    log.write_text("[rank3]: ValueError: no answer from https://me:hunter2@hub.example with token=abcd1234\n")
    assert "hunter2" in _run(str(log)).stdout
    for arguments in (("--redact",), ("--redact", "--json")):
        told = _run(*arguments, str(log)).stdout
        assert "https://me:***@hub.example with token=***" in told
        assert not any(secret in told for secret in ("hunter2", "abcd1234"))
    assert json.loads(_run("--redact", "--json", str(log)).stdout)["cause"] == "python_exception"


def test_a_bundle_that_tells_what_changed(tmp_path: Path) -> None:
    """A row of its own for a person, the whole list for a script."""
    (tmp_path / "job.log").write_text(_OOM)
    changed = {"since": "job 79990 (completed)", "what": ["train.py:212 eval_batch 4 -> 8"]}
    (tmp_path / "environment.json").write_text(json.dumps({"changed": changed}))
    row = "  changed    since job 79990 (completed): train.py:212 eval_batch 4 -> 8"
    assert row in _run(str(tmp_path)).stdout.splitlines()
    assert json.loads(_run("--json", str(tmp_path)).stdout)["changed"] == changed
