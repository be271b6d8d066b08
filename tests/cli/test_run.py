"""`supervise run -- CMD`: supervise a command in an allocation or on one machine."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from supervisor.cli import run_hop
from supervisor.cli.run_place import run_place, why_not_here, why_unsupervised
from supervisor.ledger.run_folder import read_run

_EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "numpy_ddp"
_JOB = {"SLURM_JOB_ID": "17", "SLURM_JOB_NODELIST": "node[001-003]"}


@pytest.fixture
def machine(work: Path) -> Iterator[Path]:
    """The folder on a machine without Slurm; what a run leaves running there is ended."""
    yield work
    for process in psutil.process_iter(["cmdline"]):
        if any(str(work) in word for word in process.info["cmdline"] or ()):
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _supervise(*args: str, **more: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-I", "-m", "supervisor.cli.main", *args]
    env = {**os.environ, **more}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_without_slurm_this_machine_is_the_only_node() -> None:
    """And there is no job."""
    place = run_place({}, "laptop")
    assert (place.job_id, place.nodes, place.is_restarted) == ("", ("laptop",), False)
    assert not place.is_elsewhere
    assert why_not_here({}) == ""


def test_in_a_job_its_nodes_count() -> None:
    """A task of an array is named as people name it."""
    place = run_place({**_JOB, "SLURM_RESTART_COUNT": "1"}, "node001")
    assert (place.job_id, place.nodes, place.is_restarted) == ("17", ("node001", "node002", "node003"), True)
    assert run_place({**_JOB, "SLURM_ARRAY_JOB_ID": "16", "SLURM_ARRAY_TASK_ID": "3"}, "n").job_id == "16_3"


@pytest.mark.parametrize(
    ("more", "hostname", "is_elsewhere"),
    [
        ({"SLURMD_NODENAME": "node002"}, "a-name-that-slurm-does-not-use", False),
        ({}, "node001.example.org", False),
        ({}, "login1", True),
        ({"SLURMD_NODENAME": "node009"}, "node009", True),
        ({"SLURM_JOB_NODELIST": ""}, "login1", False),
    ],
)
def test_a_supervisor_runs_on_a_node_of_the_job(more: dict[str, str], hostname: str, is_elsewhere: bool) -> None:  # noqa: FBT001  # a column of the table
    """A salloc shell on a login node is not on one."""
    assert run_place({**_JOB, **more}, hostname).is_elsewhere is is_elsewhere


@pytest.mark.parametrize(("tasks", "may"), [("1", True), ("4", False)])
def test_a_task_of_a_step_is_one_of_many(tasks: str, *, may: bool) -> None:
    """Each would supervise; the refusal says how it is meant."""
    why = why_not_here({**_JOB, "SLURM_STEP_NUM_TASKS": tasks})
    assert (why == "") is may
    assert may or "`supervise run -- srun python train.py`" in why


def test_a_heterogeneous_allocation_is_not_supervised(work: Path) -> None:
    """The command runs all the same, and that nobody watches is said."""
    assert why_unsupervised(_JOB) == ""
    done = _supervise("run", "--", "sh", "-c", "exit 7", **_JOB, SLURM_HET_SIZE="2")
    assert done.returncode == 7
    assert "the allocation is heterogeneous" in done.stderr
    assert "sh runs WITHOUT supervision" in done.stderr
    assert not (work / ".supervise").exists()


def test_a_shell_on_the_login_node_says_it_again_on_a_node(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a step that takes nothing away, with the very same words; nothing is left behind here."""
    (work / "srun").write_text('#!/bin/sh\nprintf \'%s\\n\' "$@" "$SLURM_NTASKS_PER_NODE,$SLURM_JOB_ID"\nexit 5\n')
    (work / "srun").chmod(0o755)
    path = f"{work}:{os.environ['PATH']}"
    done = _supervise("-q", "run", "--", "echo", "a b", **_JOB, SLURM_NTASKS_PER_NODE="4", PATH=path)
    *words, steered = done.stdout.splitlines()
    assert done.returncode == 5
    assert {"--overlap", "--cpu-bind=none", "--mpi=none", "node001"} <= set(words)
    assert words[-5:] == ["-q", "run", "--", "echo", "a b"]
    assert steered == ",17"
    assert not (work / ".supervise").exists()
    monkeypatch.delenv("PATH")
    assert _supervise("run", "true", **_JOB, PATH=str(work / "none")).returncode == 5


def test_behind_the_hop_the_environment_is_that_of_the_shell() -> None:
    """What the step says of itself is gone, but for where it is; what had no value has none."""
    shell = {"HOME": "/home/u", **_JOB, "SLURM_NTASKS": "8", "PMI_X": "1"}
    sent = run_hop.packed(shell)
    step = {"SLURMD_NODENAME": "node001", "SLURM_STEP_ID": "3", "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "PMI_Y": "2"}
    assert not {"SLURM_NTASKS", "PMI_X"} & set(sent)
    here = {"SLURMD_NODENAME": "node001", "SLURM_STEP_ID": "3"}
    assert run_hop.unpacked({**sent, **step}) == {**shell, **here}
    assert run_hop.unpacked(shell) is None


def test_a_dry_run_does_nothing(work: Path) -> None:
    """It says what would be done, with where each setting came from."""
    done = _supervise("run", "--dry-run", "--max-restarts", "3", "--", "sh", "-c", "echo hi", SUPERVISE_LEASE_S="9")
    assert done.returncode == 0
    assert done.stdout.startswith("Would run sh -c 'echo hi' on this machine as run sh-")
    assert "max_restarts = 3 (command line)" in done.stdout
    assert "lease_s = 9.0 (SUPERVISE_LEASE_S)" in done.stdout
    assert not (work / ".supervise").exists()
    answer = json.loads(_supervise("--json", "--dry-run", "run", "true").stdout)
    assert (answer["command"], answer["nodes"]) == (["true"], [os.uname().nodename])


def test_options_behind_the_command_are_its_own(work: Path) -> None:
    """With and without the two dashes."""
    for words in (["--", "python", "t.py", "--spares", "2"], ["python", "t.py", "--spares", "2"]):
        answer = json.loads(_supervise("--json", "--dry-run", "run", *words).stdout)
        assert answer["command"] == ["python", "t.py", "--spares", "2"]
        assert answer["settings_origin"] == {}


def test_a_command_that_is_not_there_begins_no_run(work: Path) -> None:
    """As a shell says it, and nothing that would stand in the list for ever."""
    (work / "plain").write_text("no program")
    for word in ("nosuchcommand", "./plain"):
        done = _supervise("run", word)
        assert (done.returncode, done.stderr) == (127, f"supervise: {word}: command not found\n")
    assert not (work / ".supervise").exists()


def test_a_wrong_setting_is_refused(work: Path) -> None:
    """As before sbatch."""
    done = _supervise("run", "--max-restarts", "many", "--", "true")
    assert done.returncode == 2
    assert "--max-restarts many: a whole number, 0 or more" in done.stderr


def test_what_is_supervised_already_gets_no_second_supervisor(work: Path) -> None:
    """The command simply runs, with its own exit code."""
    done = _supervise("run", "--", "sh", "-c", "echo hi; exit 7", SUPERVISE_ATTEMPT="1", SUPERVISE_RUN_ID="r")
    assert (done.returncode, done.stdout) == (7, "hi\n")
    assert "supervised already" in done.stderr
    assert not (work / ".supervise").exists()


def test_without_a_run_folder_the_command_still_runs(work: Path) -> None:
    """A full disk costs the supervision, never the job."""
    (work / "file").touch()
    done = _supervise("run", "--", "sh", "-c", "exit 7", SUPERVISE_HOME=str(work / "file"))
    assert done.returncode == 7
    assert "WITHOUT supervision" in done.stderr
    assert _supervise("run", "--", "/nosuch", SUPERVISE_HOME=str(work / "file")).returncode == 127


def test_a_job_that_slurm_starts_again_goes_on_with_its_run(work: Path) -> None:
    """Its limits count on: the same command of the same job gets the same folder, another one does not."""
    job = {"SLURM_JOB_ID": "17", "SLURM_JOB_NODELIST": "node001", "SLURMD_NODENAME": "node001"}
    folder = work / ".supervise" / "train-abcde"
    folder.mkdir(parents=True)
    run = {"run_id": "train-abcde", "created_at": 1.0, "script_args": ["train", "--lr", "1"]}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "jobs").mkdir()
    (folder / "jobs" / "17.json").write_text("{}")
    (folder / "keeper.py").write_text("import json, sys; print(json.dumps(sys.argv))")
    done = _supervise("run", "train", "--lr", "1", SLURM_RESTART_COUNT="1", **job)
    assert json.loads(done.stdout) == [str(folder / "keeper.py"), str(folder), "train", "--lr", "1"]
    for words, count in ((["train", "--lr", "2"], "1"), (["train", "--lr", "1"], "0")):
        again = _supervise("--dry-run", "run", *words, SLURM_RESTART_COUNT=count, **job)
        assert "as run train-abcde" not in again.stdout


def test_the_command_runs_supervised_and_ends_as_it_ends(machine: Path) -> None:
    """Whole, on this machine: its output, its exit code, the promise, and a run that `why` knows."""
    done = _supervise("run", "--", "sh", "-c", 'echo "$SUPERVISE_ATTEMPT"', SUPERVISE_TRANSPORT="mqtt")
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert done.stderr.startswith("supervise: run sh-")
    (folder,) = (path.parent for path in (machine / ".supervise").glob("*/run.json"))
    run = read_run(folder)
    assert (run.script_args[0], run.script_name, run.workdir) == ("sh", "", str(machine))
    assert _supervise("why", run.run_id).stdout.startswith("Completed (attempt 1), no interruptions")


def test_quiet_leaves_the_terminal_to_the_command(machine: Path) -> None:
    """A command that fails for good is tried no more, and its code is the answer."""
    done = _supervise("-q", "run", "--", "sh", "-c", "exit 127", SUPERVISE_TRANSPORT="mqtt")
    assert done.returncode == 127
    assert "supervise: run sh-" not in done.stderr


def test_a_rank_that_vanishes_under_a_launcher_that_waits_for_all_is_noticed(machine: Path) -> None:
    """No srun tells of it and the launcher would wait for ever: the ranks' standstill does."""
    for file in _EXAMPLE.glob("*.*"):
        shutil.copy(file, machine)
    trainer = ["--steps", "40", "--step-seconds", "0.1", "--kill-at", "1:15", "--fault-attempt", "1", "--out", "out"]
    words = ["--checkpoint", "checkpoints", "run", "--", "bash", "local.sh", "3", *trainer]
    done = _supervise("-q", *words, SUPERVISE_TRANSPORT="mqtt", PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert json.loads((machine / "out" / "result.json").read_text())["attempt"] == 2
    (folder,) = (path.parent for path in (machine / ".supervise").glob("*/run.json"))
    (incident,) = json.loads(_supervise("why", "--json", folder.name).stdout)["incidents"]
    assert (incident["action"], incident["steps_lost"] < 10) == ("relaunch", True)
