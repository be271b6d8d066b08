"""The command `supervise` itself."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from supervisor import errors
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.look import phrase
from supervisor.cli.main import COMMANDS, exit_code
from supervisor.cli.promise import promise
from supervisor.ledger.run_file import RunFile
from supervisor.model.facts import Checkpoint, Choice
from supervisor.model.ids import RunId
from supervisor.settings import Settings
from supervisor.version import VERSION
from tests.slurm_submit.fakes import FakeSlurm


def _supervise(*args: str, **more: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, **more}
    argv = [sys.executable, "-I", "-m", "supervisor.cli.main", *args]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_help_names_every_command_and_imports_none() -> None:
    """`--help` must be there at once: nothing but click is loaded."""
    code = (
        "import sys; from supervisor.cli.main import cli; cli(['--help'], standalone_mode=False); "
        "print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "{'msgspec', 'asyncio', 'fsspec', 'aiomqtt', 'subprocess', 'structlog', 'rich'}))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    *said, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    assert all(any(line.strip().startswith(name) for line in said) for name in COMMANDS)
    assert said.index("Commands:") < said.index("Options:")


def test_the_version_is_that_of_the_distribution(checkout: Path) -> None:
    """One number in two places."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
    assert _supervise("--version").stdout == f"supervise {VERSION}\n"


def test_who_has_read_enough_hears_no_complaint(work: Path) -> None:
    """`supervise config | head -1`."""
    argv = [sys.executable, "-I", "-m", "supervisor.cli.main", "config"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_an_unknown_command_is_refused() -> None:
    """With what was probably meant and the code for wrong usage."""
    for word, meant in (("sbtach", " Did you mean sbatch?"), ("qqq", "")):
        done = _supervise(word, "x")
        assert done.returncode == ExitCode.USAGE
        assert done.stderr.endswith(f"No such command '{word}'.{meant}\n")


def test_a_script_in_the_place_of_a_command_is_told_what_is_missing(work: Path) -> None:
    """Who has just heard of `supervise` types it in front of the script."""
    (work / "t.sh").write_text("#!/bin/sh\necho\n")
    assert "To submit it: supervise sbatch t.sh; to run it here: supervise run -- t.sh" in _supervise("t.sh").stderr


def test_an_option_without_its_value_is_named() -> None:
    """It has taken the command for it, and click would complain of the script."""
    done = _supervise("--spares", "sbatch", "train.sh")
    assert done.returncode == ExitCode.USAGE
    assert "--spares needs a value, and 'sbatch' was taken for it" in done.stderr


def test_an_error_is_one_sentence_and_a_code(work: Path, tmp_path: Path) -> None:
    """No traceback."""
    (work / "t.sh").write_text("#!/bin/sh\necho\n")
    done = _supervise("--spares", "1", "sbatch", "t.sh")
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("supervise: 1 spare node is not possible here: ")
    assert len(done.stderr.splitlines()) == 1


def test_without_slurm_the_code_says_so(work: Path, tmp_path: Path) -> None:
    """Also for calls that are left to sbatch."""
    (work / "t.sh").write_text("#!/bin/sh\necho\n")
    for args in (["t.sh"], ["--test-only", "t.sh"]):
        done = _supervise("sbatch", *args, PATH=str(tmp_path))
        assert done.returncode == ExitCode.NO_SLURM
        assert "sbatch is not on PATH" in done.stderr
    assert not (work / ".supervise").exists()


def test_a_double_dash_reaches_sbatch(slurm: FakeSlurm, work: Path) -> None:
    """Click would eat it."""
    _supervise("sbatch", "--test-only", "--", "-odd.sh", "--")
    assert slurm.argv == ["--test-only", "--", "-odd.sh", "--"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("x"), 2),
        (errors.NoSuchRun("x"), 4),
        (errors.NoSlurm("x"), 5),
        (errors.RunFolderUnusable("x"), 1),
        (errors.SlurmTimeout("x"), 1),
    ],
)
def test_each_error_has_its_exit_code(error: errors.SuperviseError, code: int) -> None:
    """Scripts branch on them."""
    assert exit_code(error) == code


RUN = RunFile(run_id=RunId("llama-abc12"), created_at=1.0)


def test_observe_mode_promises_to_keep_its_hands_off() -> None:
    """Nothing is stopped or restarted."""
    run = RunFile(run_id=RunId("llama-abc12"), created_at=1.0, settings=Settings(mode="observe"))
    text = promise(run, job_id="7", checkpoints="")
    assert "stops and restarts nothing" in text
    assert "acts on" not in text


def test_spares_are_named_with_their_price() -> None:
    """They wait unused."""
    run = RunFile(run_id=RunId("r"), created_at=1.0, settings=Settings(spares=2), nodes=4)
    assert "Of 6 nodes 2 nodes are spares" in " ".join(promise(run, job_id="7", checkpoints="").split())


def test_the_promise_fits_a_terminal() -> None:
    """At most 120 columns and a handful of lines, each below the first indented."""
    lines = promise(RUN, job_id="81234", checkpoints="Checkpoints: /scratch/me/ck (none yet).").splitlines()
    assert all(len(line) <= 120 for line in lines)
    assert len(lines) <= 5
    assert "one that may be chance gets one more try" in " ".join(" ".join(lines).split())
    assert all(line.startswith("           ") for line in lines[1:])


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice(chosen=None, why="/ck does not exist"), "no checkpoint yet: it does not exist"),
        (Choice(chosen=None, why="none of 2 is whole"), "no checkpoint yet: none of 2 is whole"),
        (
            Choice(chosen=None, is_trustworthy=False, why="/ck: Not a directory"),
            "WARNING: cannot be read from here: Not a directory",
        ),
        (
            Choice(chosen=Checkpoint(path="/ck/5", step=5, kind="dcp", verdict="whole")),
            "newest whole: step 5",
        ),
    ],
)
def test_a_look_at_checkpoints_is_one_phrase(choice: Choice, words: str) -> None:
    """A listing that cannot be trusted is never "none"."""
    assert phrase("/ck", choice) == words


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_folder_that_could_not_be_made_is_a_warning(tmp_path: Path, scheme: str) -> None:
    """Its parent is missing: rather a wrong path than a first run."""
    url = f"{scheme}{tmp_path}/scrath/ck"
    found = phrase(url, Choice(chosen=None, why=f"{url} does not exist"))
    assert found == f"WARNING: there is no {tmp_path}/scrath here"


def test_an_interrupt_ends_sbatch_and_leaves_nothing(slurm: FakeSlurm, work: Path) -> None:
    """Ctrl-C goes to both; the queue says that no job was made, so no folder stays."""
    (work / "t.sh").write_text("#!/bin/sh\necho\n")
    slurm.says()
    slurm.hangs()
    slurm.queue("5|/other\n")
    argv = [sys.executable, "-I", "-m", "supervisor.cli.main", "sbatch", "t.sh"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        end = time.monotonic() + 60
        while not (slurm.folder / "hanging").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "submit again" in err
    assert not (work / ".supervise").exists()
