"""`supervise once -- CMD`."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

_PROGRAM = [sys.executable, "-I", "-m", "supervisor.cli.main"]


def _once(*args: str, **more: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, **more}
    return subprocess.run([*_PROGRAM, *args], env=env, capture_output=True, text=True, timeout=60, check=False)


def _run(work: Path, attempt: int = 1) -> dict[str, str]:
    """The environment of an attempt."""
    return {"SUPERVISE_RUN_FOLDER": str(work / "run"), "SUPERVISE_ATTEMPT": str(attempt)}


def test_unsupervised_the_command_simply_runs(work: Path) -> None:
    """Each time, with its own exit code."""
    for _ in range(2):
        done = _once("once", "--", "sh", "-c", "echo hi; exit 7")
        assert (done.returncode, done.stdout, done.stderr) == (7, "hi\n", "")
    assert not list(work.iterdir())
    assert _once("once", "--", "/nosuch").returncode == 127


def test_in_a_run_it_is_done_once(work: Path) -> None:
    """Also in the next attempt; another command, or the same in another folder, is another thing."""
    words = ["once", "--", "sh", "-c", "echo x >>done"]
    for attempt in (1, 1, 2):
        done = _once(*words, **_run(work, attempt))
        assert done.returncode == 0, done.stderr
    assert "done already in this run: sh -c" in done.stderr
    assert (work / "done").read_text() == "x\n"
    assert _once("-q", *words, **_run(work)).stderr == ""
    assert _once(*words, **_run(work), SLURM_PROCID="3").stderr == ""
    (work / "deeper").mkdir()
    subprocess.run([*_PROGRAM, *words], cwd=work / "deeper", env={**os.environ, **_run(work), "PWD": ""}, check=True)
    assert (work / "deeper" / "done").exists()


def test_what_failed_is_tried_again(work: Path) -> None:
    """Its exit code is passed on each time, until it is done."""
    words = ["once", "--name", "data", "--", "sh", "-c", "echo x >>tries; exit $((3 - $(wc -l <tries)))"]
    assert [_once(*words, **_run(work)).returncode for _ in range(4)] == [2, 1, 0, 0]
    assert (work / "tries").read_text() == "x\n" * 3


@pytest.mark.parametrize(("command", "code"), [("./no", 127), ("./plain", 126), ("kill -9 $$", 137)])
def test_codes_are_a_shells(work: Path, command: str, code: int) -> None:
    """Not there, cannot be started, ended by a signal."""
    (work / "plain").write_text("no program")
    words = ["sh", "-c", command] if "$" in command else [command]
    assert _once("once", "--", *words, **_run(work)).returncode == code


def test_signals_reach_the_command(work: Path) -> None:
    """Slurm's TERM may come to the waiting process alone; how it ended is known."""
    words = ["sh", "-c", "trap 'exit 9' TERM; touch begun; while :; do sleep 0.1; done"]
    with subprocess.Popen([*_PROGRAM, "once", "--", *words], env={**os.environ, **_run(work)}) as process:
        while not (work / "begun").exists():
            sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 9
    assert list((work / "run").rglob("1.done"))


def test_a_folder_that_cannot_be_used_keeps_nobody_from_it(work: Path) -> None:
    """A full disk costs the memory, never the deed."""
    (work / "run").touch()
    done = _once("once", "--", "sh", "-c", "exit 7", **_run(work))
    assert done.returncode == 7
    assert "cannot be used" in done.stderr


def test_a_dry_run_does_nothing(work: Path) -> None:
    """It says whether there is a run."""
    assert "once in this run" in _once("--dry-run", "once", "--", "touch", "x", **_run(work)).stdout
    assert "no run here" in _once("--dry-run", "once", "--", "touch", "x").stdout
    assert not list(work.iterdir())
