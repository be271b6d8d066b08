"""`supervise diagnose` as a user and a script see it."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor.cli.diagnose import command
from supervisor.cli.diagnose_screen import screen
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Class, Retry, Verdict

_OOM = "[rank37]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 5 has a total\n"
_ASK_SLURM = "`sacct -j JOBID -o JobID,State,ExitCode,MaxRSS,NodeList` says how Slurm saw it end"
_WITHOUT_IT = "A rerun without it can succeed."


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def _roughly(line: str) -> str:
    """The screen's line without the second digit of a high confidence, which each fit of its table moves."""
    return re.sub(r"\(confidence 0\.9\d\)", "(confidence 0.9x)", line)


def test_a_person_reads_the_conclusion_first(tmp_path: Path) -> None:
    """The first line tells class, cause, rank, confidence and whether a rerun helps; then proof and next step."""
    log = tmp_path / "slurm-1.out"
    log.write_text(_OOM)
    result = _run(str(log))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert _roughly(lines[0]) == (
        "software/cuda_oom on rank 37, node not to blame (confidence 0.9x). "
        "A rerun without a change will fail the same way."
    )
    assert lines[1] == f"  from       {log}"
    assert lines[2] == "  what       GPU memory ran out on rank 37"
    assert lines[3].startswith("  proof      slurm-1.out:1 [rank37]: torch.OutOfMemoryError")
    assert lines[4].startswith("  next       a smaller batch")


@pytest.mark.parametrize(
    ("line", "head", "advice"),
    [
        (
            "srun: error: Node failure on gpu009",
            f"hardware/node_unreachable on gpu009, which should leave the job (confidence 0.9x). {_WITHOUT_IT}",
            "`sbatch --exclude=gpu009`, and tell the administrators",
        ),
        (
            "slurmstepd: error: *** JOB 7 ON gpu001 CANCELLED AT 2026-11-30T23:00:02 DUE TO TIME LIMIT ***",
            "planned/walltime (confidence 0.9x). Not a fault: submit it again to go on.",
            "submit it again to go on from its newest checkpoint, or ask for more time (`--time`)",
        ),
        (
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
            "data/checkpoint_corrupt (confidence 0.9x). A rerun from an older checkpoint can succeed.",
            "resume from the checkpoint before; --checkpoint finds the newest whole one by itself",
        ),
        (
            "srun: error: gpu001: task 0: Exited with exit code 1",
            "unknown: not enough evidence for a verdict. One rerun is worth a try; the same again needs a person.",
            f"read the end of the log; {_ASK_SLURM}",
        ),
        (
            "[ 8112.044172] NVRM: Xid (PCI:0000:9d:00): 79, pid=4412, GPU has fallen off the bus.",
            "hardware/gpu_lost (confidence 0.9x). A rerun on other nodes can succeed.",
            "find the node: `sacct -j JOBID -o JobID,State,NodeList`; `sbatch --exclude` leaves it out",
        ),
        (
            "KeyboardInterrupt",
            "planned/user_stop (confidence 0.20, a guess). Not a fault: nothing to rerun.",
            "submit it again if it was not meant",
        ),
        (
            "",
            "unknown: not enough evidence for a verdict. One rerun is worth a try; the same again needs a person.",
            f"nothing is in it: is this the job's output? {_ASK_SLURM}",
        ),
    ],
)
def test_the_first_line_decides_and_the_next_step_is_whole(tmp_path: Path, line: str, head: str, advice: str) -> None:
    """Whether and how to run again, and what to type; the log's line is shown once, as proof."""
    log = tmp_path / "slurm-1.out"
    log.write_text(line and f"step 1\n{line}\n")
    text = _run(str(log)).stdout
    assert _roughly(text.splitlines()[0]) == head
    assert f"  next       {advice}" in text.splitlines()
    assert not line or text.count(line) == 1


@pytest.mark.parametrize(
    ("cls", "cause", "retry", "advice"),
    [
        (Class.NETWORK, "remote_service_unreachable", Retry.YES, "submit it again; if it fails the same way"),
        (Class.SOFTWARE, "cache_lock_race", Retry.ONCE, "submit it again once; if it fails the same way"),
        (Class.HARDWARE, "node_unreachable", Retry.YES, "find the node: "),
    ],
)
def test_there_is_always_a_next_step(cls: Class, cause: str, retry: Retry, advice: str) -> None:
    """Also for a cause of which the table says none."""
    verdict = Verdict(cls=cls, cause=cause, confidence=0.9, summary="it broke", retry=retry)
    assert [line for line in screen(verdict, Path("job")).splitlines() if line.startswith(f"  next       {advice}")]


@pytest.mark.parametrize(("nodes", "told"), [(2, "--exclude=n0,n1`"), (17, "leave these 17 nodes out")])
def test_nodes_to_leave_out_are_named_as_sbatch_wants_them(nodes: int, told: str) -> None:
    """As long as a person would type them."""
    gone = tuple(NodeName(f"n{number}") for number in range(nodes))
    verdict = Verdict(
        cls=Class.NETWORK, cause="link_flap", confidence=0.9, summary="a port went down and up", exclude_nodes=gone
    )
    lines = screen(verdict, Path("job")).splitlines()
    assert "A rerun without them can succeed." in lines[0]
    assert ("n4" in lines[0], f"and {nodes - 4} more" in lines[0]) == (False, nodes > 4)
    assert told in lines[3]


def test_a_line_is_shown_once(tmp_path: Path) -> None:
    """Also where it is proof by one signature and context by another."""
    log = tmp_path / "slurm-1.out"
    log.write_text("step 1\nBus error (core dumped)\n")
    assert _run(str(log)).stdout.count("slurm-1.out:2") == 1


def test_lines_without_a_cause_follow_from_nothing(tmp_path: Path) -> None:
    """They are counted, and called what they are."""
    log = tmp_path / "slurm-1.out"
    log.write_text("step 1\n/var/spool/slurmd/job812/slurm_script: line 14: 22110 Killed      python train.py\n")
    text = _run(str(log)).stdout
    assert "  noise      1 line that tells of an end, not of its cause: shell_killed" in text.splitlines()


def test_the_outputs_of_several_jobs_are_not_quietly_one(tmp_path: Path) -> None:
    """A folder stands for one job; the command for a verdict each is there to be copied."""
    for job in ("101", "102_3"):
        (tmp_path / f"slurm-{job}.out").write_text(_OOM)
        told = _run(str(tmp_path)).stderr
        assert ("2 jobs" in told, f"supervise diagnose {tmp_path}/slurm-*.out" in told) == (bool(told), bool(told))
    assert told


def test_a_log_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Colours and control characters of a line are left out."""
    log = tmp_path / "slurm-1.out"
    log.write_text("\x1b[1;31mtorch.OutOfMemoryError: CUDA out of memory.\x1b[0m \x1b]0;title\x07\n")
    text = _run(str(log)).stdout
    assert "proof      slurm-1.out:1 torch.OutOfMemoryError: CUDA out of memory." in text
    assert "\x1b" not in text


def test_several_verdicts_stand_apart(tmp_path: Path) -> None:
    """An empty line between two; none in JSON."""
    log = tmp_path / "slurm-1.out"
    log.write_text(_OOM)
    one = _run(str(log)).stdout
    assert _run(str(log), str(log)).stdout == f"{one}\n{one}"
    assert all(_run("--json", str(log), str(log)).stdout.splitlines())


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
