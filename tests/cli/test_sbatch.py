"""`supervise sbatch` from arguments to exit code, with an sbatch that does what the test says."""

import io
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from supervisor import errors
from supervisor.cli import sbatch as sbatch_command
from supervisor.cli.checkpoint_look import CheckpointLook
from supervisor.cli.options import GlobalOptions
from supervisor.cli.sbatch import submit
from supervisor.errors import RunFolderUnusable, UsageError
from supervisor.ledger.find_run import find_run
from supervisor.ledger.run_folder import read_run, submissions
from supervisor.slurm import submit as submit_module
from tests.slurm_submit.fakes import FakeSlurm

SCRIPT = "#!/bin/bash\n#SBATCH -N 2\n#SUPERVISE --max-restarts 7\n\nsrun train.py\n"
Alone = list[tuple[list[str], bytes | None]]


@pytest.fixture(autouse=True)
def _keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keeper program whatever this checkout has, and a small version of ours to be kept."""
    monkeypatch.setattr(sbatch_command, "programs", lambda: {"keeper.py": b"# keeper\n"})
    monkeypatch.setattr("supervisor.runtime.kept._sources", lambda: iter([("errors.py", errors.__file__)]))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Alone:
    """What was left to sbatch alone: its arguments and the script that was already read."""
    seen: Alone = []

    def become(argv: Sequence[str], *, env: Mapping[str, str], fed: bytes | None = None) -> None:
        seen.append((list(argv), fed))

    monkeypatch.setattr(sbatch_command, "replace_by_sbatch", become)
    return seen


@pytest.fixture
def script(work: Path) -> Path:
    """The user's script."""
    path = work / "train.sh"
    path.write_text(SCRIPT)
    return path


def _folders(work: Path) -> list[Path]:
    return [path.parent for path in (work / ".supervise").glob("*/run.json")]


def _ask(*args: str, settings: dict[str, str] | None = None, **flags: bool) -> int:
    return submit(GlobalOptions(settings=settings or {}, **flags), args)


def test_the_job_is_submitted_with_the_guarded_script(slurm: FakeSlurm, script: Path, work: Path) -> None:
    """The user's arguments, and our file in place of the script's, under the same name."""
    assert _ask("-p", "gpu", "train.sh", "--lr", "0.1") == 0
    (folder,) = _folders(work)
    assert slurm.argv == ["-p", "gpu", f"{folder}/submitted/train.sh", "--lr", "0.1"]
    sent = (folder / "submitted/train.sh").read_text()
    assert f"{folder}/keeper" in sent
    assert sent.count("\n") == SCRIPT.count("\n")


def test_what_is_needed_later_is_in_the_run_file(slurm: FakeSlurm, script: Path, work: Path) -> None:
    """Settings with their origin, the user's own arguments, where and with what."""
    _ask("-p", "gpu", "--export=A=1", "train.sh", "x", settings={"mode": "observe"})
    run = read_run(_folders(work)[0])
    assert run.run_id.startswith("train.sh-")
    assert run.settings.max_restarts == 7
    assert run.settings_origin == {"max_restarts": "#SUPERVISE in line 3", "mode": "command line"}
    assert run.sbatch_args == ("-p", "gpu", "--export=A=1")
    assert (run.script_name, run.script_args, run.export, run.nodes) == ("train.sh", ("x",), "A=1", 2)
    assert (run.workdir, run.python) == (str(work), sys.executable)


def test_stdout_is_sbatchs_and_the_promise_goes_to_stderr(
    slurm: FakeSlurm, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It says what it will do, within which limits, and how to watch."""
    _ask("train.sh")
    out, err = capfd.readouterr()
    assert out == "Submitted batch job 4242\n"
    assert err.startswith("supervise: run train.sh-")
    assert "at most 7 restarts" in " ".join(err.split())
    assert "supervise status 4242" in err
    assert len(err.splitlines()) <= 5


@pytest.mark.parametrize(("args", "quiet"), [(["--parsable"], False), (["-Q"], False), ([], True)])
def test_a_caller_that_wants_no_words_gets_none(
    slurm: FakeSlurm, script: Path, capfd: pytest.CaptureFixture[str], args: list[str], *, quiet: bool
) -> None:
    """`--parsable`, `-Q` and `-q` leave stderr to sbatch."""
    _ask(*args, "train.sh", quiet=quiet)
    assert capfd.readouterr().err == ""


def test_the_run_is_found_by_its_job_id(slurm: FakeSlurm, script: Path, work: Path) -> None:
    """From anywhere, and in the folder's own record."""
    _ask("train.sh")
    (folder,) = _folders(work)
    env = {"HOME": str(work.parent / "home")}
    assert find_run("4242", workdir=Path("/"), env=env) == folder
    assert [record.job_id for record in submissions(folder)] == ["4242"]


def test_a_refusal_reaches_the_user_and_leaves_no_folder(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Sbatch's words and its exit code."""
    slurm.says(stderr="sbatch: error: Batch job submission failed: Invalid qos specification\n", code=1)
    assert _ask("train.sh") == 1
    out, err = capfd.readouterr()
    assert (out, err) == ("", "sbatch: error: Batch job submission failed: Invalid qos specification\n")
    assert list(work.iterdir()) == [script]


def test_a_job_that_was_not_heard_of_is_found(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue shows it by its script; the user is told not to submit again, and scripts get the id."""
    slurm.says(stderr="sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n", code=1)
    folders: list[str] = []

    def queue(_: str) -> str:
        folders.append(str(_folders(work)[0]))
        return f"5|/other\n99|{folders[0]}/submitted/train.sh\n"

    monkeypatch.setattr(submit_module, "_queue", queue)
    assert _ask("train.sh") == 0
    out, err = capfd.readouterr()
    assert out == "Submitted batch job 99\n"
    assert "do not submit it again" in err
    assert [record.job_id for record in submissions(Path(folders[0]))] == ["99"]


def test_a_job_that_is_not_in_the_queue_may_be_submitted_again(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is clear, and no folder stays."""
    monkeypatch.setattr(submit_module, "LOOK_PAUSE_S", 0)
    slurm.says(stderr="Socket timed out\n", code=1)
    slurm.queue("5|/other\n")
    assert _ask("train.sh") == 1
    assert "submit again" in capfd.readouterr().err
    assert _folders(work) == []


def test_an_unknown_fate_keeps_the_folder(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The job may exist and would need it."""
    slurm.says(stderr="Socket timed out\n", code=1)
    assert _ask("train.sh") == 1
    assert "squeue --me" in capfd.readouterr().err
    assert len(_folders(work)) == 1


def test_wrap_is_sent_as_a_script_named_wrap(slurm: FakeSlurm, work: Path) -> None:
    """So that the job is called as sbatch calls it, and its text is what sbatch would have made."""
    _ask("-N2", "--wrap", "srun hostname")
    (folder,) = _folders(work)
    assert slurm.argv == ["-N2", f"{folder}/submitted/wrap"]
    lines = (folder / "submitted/wrap").read_text().split("\n")
    assert lines[:3] == ["#!/bin/sh", "# This script was created by sbatch --wrap.", ""]
    assert lines[3].endswith("; srun hostname")
    assert read_run(folder).sbatch_args == ("-N2",)


def test_a_script_on_stdin_is_sent_as_one_named_sbatch(
    slurm: FakeSlurm, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As sbatch names such a job."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCRIPT.encode())))
    _ask("-N2")
    (folder,) = _folders(work)
    assert slurm.argv == ["-N2", f"{folder}/submitted/sbatch"]


@pytest.mark.parametrize("name", ["my train.sh", "it's.sh", "new\nline.sh", "-dash.sh", "ü.sh", "$(x).sh"])
def test_any_name_of_a_script_is_taken(slurm: FakeSlurm, work: Path, name: str) -> None:
    """Blanks, quotes, newlines, a leading dash."""
    (work / name).write_text(SCRIPT)
    assert _ask("-N2", "--", name, "a b") == 0
    (folder,) = _folders(work)
    assert slurm.argv == ["-N2", "--", f"{folder}/submitted/{name}", "a b"]
    assert read_run(folder).script_path == str(work / name)


def test_any_name_of_the_folder_is_taken(
    slurm: FakeSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Path
) -> None:
    """The guard finds its keeper there: the script runs it."""
    folder = tmp_path / "a 'b'\n\"c\" $d"
    folder.mkdir()
    monkeypatch.setenv("PWD", str(folder))
    monkeypatch.chdir(folder)
    (folder / "t.sh").write_text("#!/bin/sh\necho never\n")
    _ask("t.sh")
    (run,) = _folders(folder)
    (run / "keeper").write_text('#!/bin/sh\necho "kept $1"\n')
    done = subprocess.run([run / "submitted/t.sh"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"kept {run}/submitted/t.sh\n"


def test_a_bare_name_is_looked_for_as_sbatch_does(
    slurm: FakeSlurm, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First here, then along PATH."""
    elsewhere = tmp_path / "bin"
    elsewhere.mkdir()
    (elsewhere / "t.sh").write_text(SCRIPT)
    monkeypatch.setenv("PATH", f"{slurm.bin}:{elsewhere}:/usr/bin:/bin")
    _ask("t.sh")
    assert read_run(_folders(work)[0]).script_path == str(elsewhere / "t.sh")


def test_chdir_moves_the_run_folder(slurm: FakeSlurm, script: Path, work: Path) -> None:
    """Where the job works, its run is found."""
    (work / "sub").mkdir()
    _ask("-D", "sub", "train.sh")
    assert len(_folders(work / "sub")) == 1


def test_spares_change_the_request_and_only_the_request(slurm: FakeSlurm, script: Path, work: Path) -> None:
    """What the user typed stays in the run file, so that a resubmission can ask for fewer."""
    _ask("train.sh", settings={"spares": "1"})
    run = read_run(_folders(work)[0])
    assert slurm.argv[:-1] == ["--nodes=3"]
    assert (run.sbatch_args, run.nodes) == ((), 2)


def test_spares_that_cannot_be_kept_submit_nothing(slurm: FakeSlurm, script: Path, work: Path) -> None:
    """Refused by name, before sbatch is called."""
    with pytest.raises(UsageError, match="1 spare node is not possible here: -n 7 is not the same"):
        _ask("-n7", "train.sh", settings={"spares": "1"})
    assert slurm.calls() == 0
    assert _folders(work) == []


def test_all_complaints_about_settings_come_at_once(slurm: FakeSlurm, script: Path) -> None:
    """And nothing is submitted."""
    with pytest.raises(UsageError, match=r"--spares x: a whole number.*\n  --mode maybe: one of: act, observe"):
        _ask("train.sh", settings={"spares": "x", "mode": "maybe"})
    assert slurm.calls() == 0


def test_an_option_of_ours_behind_sbatch_is_explained(slurm: FakeSlurm, script: Path) -> None:
    """Sbatch would only say that it does not know it."""
    with pytest.raises(UsageError, match="put it before sbatch"):
        _ask("--spares", "1", "train.sh")


@pytest.mark.parametrize("args", [["--help"], ["-V"], ["--test-only", "train.sh"], ["--usage"]])
def test_what_submits_nothing_is_left_to_sbatch(
    slurm: FakeSlurm, script: Path, work: Path, alone: Alone, args: list[str]
) -> None:
    """As it was typed, without a run folder."""
    _ask(*args)
    assert alone == [(args, None)]
    assert _folders(work) == []


@pytest.mark.parametrize(
    "text", ["", "   \n", "echo no shebang\n", "#!/bin/sh\r\necho dos\r\n", '#!/bin/sh\n#SBATCH -J "open\necho\n']
)
def test_a_script_that_sbatch_refuses_is_left_to_sbatch(slurm: FakeSlurm, work: Path, alone: Alone, text: str) -> None:
    """Its own words are the right ones."""
    (work / "bad.sh").write_bytes(text.encode())
    _ask("bad.sh", "x")
    assert alone == [(["bad.sh", "x"], None)]


@pytest.mark.parametrize("args", [["nowhere.sh"], ["--wrap=x", "train.sh"]])
def test_a_call_that_sbatch_refuses_is_left_to_sbatch(
    slurm: FakeSlurm, script: Path, alone: Alone, args: list[str]
) -> None:
    """A wrong path, `--wrap` beside a script."""
    _ask(*args)
    assert alone == [(args, None)]


def test_an_option_that_nobody_knows_is_left_to_sbatch(slurm: FakeSlurm, script: Path, alone: Alone) -> None:
    """Where the script begins is not certain then."""
    slurm.plugins("Options provided by plugins:\n      --image=NAME  x\n")
    _ask("--nope", "train.sh")
    assert alone == [(["--nope", "train.sh"], None)]


def test_an_option_of_a_plugin_is_known(slurm: FakeSlurm, script: Path, work: Path, alone: Alone) -> None:
    """Sbatch's help tells of it: the job is supervised."""
    slurm.plugins("Options provided by plugins:\n      --image=NAME  x\n")
    _ask("--image", "ubuntu", "train.sh")
    assert alone == []
    assert slurm.argv == ["--image", "ubuntu", f"{_folders(work)[0]}/submitted/train.sh"]


def test_a_run_folder_that_cannot_be_made_does_not_cost_the_job(
    slurm: FakeSlurm, script: Path, work: Path, alone: Alone, capfd: pytest.CaptureFixture[str]
) -> None:
    """Submitted as plain sbatch would, spares included, with a clear warning."""
    (work / ".supervise").write_text("in the way")
    _ask("-Q", "train.sh", "x", settings={"spares": "1"})
    assert alone == [(["-Q", "--nodes=3", "train.sh", "x"], None)]
    assert "WITHOUT supervision" in capfd.readouterr().err


def test_an_installation_without_keeper_does_not_cost_the_job(
    slurm: FakeSlurm, script: Path, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken update, for example."""

    def broken() -> dict[str, bytes]:
        raise RunFolderUnusable("this installation has no keeper.py")

    monkeypatch.setattr(sbatch_command, "programs", broken)
    _ask("train.sh")
    assert alone == [(["train.sh"], None)]


def test_a_script_on_stdin_is_given_back_to_sbatch(
    slurm: FakeSlurm, work: Path, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read already when supervision turned out impossible."""
    (work / ".supervise").write_text("in the way")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCRIPT.encode())))
    _ask()
    assert alone == [([], SCRIPT.encode())]


def test_dry_run_shows_everything_and_does_nothing(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Command, reasons, settings and the script with the guard."""
    assert _ask("train.sh", settings={"spares": "1"}, dry_run=True) == 0
    out, _ = capfd.readouterr()
    assert out.startswith("Would submit run train.sh-")
    assert "--nodes=3" in out
    assert "max_restarts = 7 (#SUPERVISE in line 3)" in out
    assert "SUPERVISE_ATTEMPT" in out
    assert slurm.calls() == 0
    assert list(work.iterdir()) == [script]


def test_dry_run_in_json_is_one_object(slurm: FakeSlurm, script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With the head that every JSON answer has."""
    _ask("train.sh", dry_run=True, json=True)
    answer = json.loads(capfd.readouterr().out)
    assert {"schema", "version", "cluster", "job_id", "run_id", "log", "conclusion", "blockers"} <= answer.keys()
    assert answer["submission"]["argv"][0] == "sbatch"


def test_json_tells_of_success_and_of_refusal(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A script reads job and run, or what blocks."""
    _ask("train.sh", json=True)
    answer = json.loads(capfd.readouterr().out)
    assert (answer["job_id"], answer["blockers"]) == ("4242", [])
    assert answer["run_id"] == _folders(work)[0].name
    slurm.says(stderr="sbatch: error: no\n", code=1)
    assert _ask("train.sh", json=True) == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["blockers"] == ["sbatch: error: no"]
    assert err == ""


def test_a_job_submitted_from_an_attempt_is_no_attempt(
    slurm: FakeSlurm, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sbatch hands the environment on, and the guard would take the new job for an attempt of the old run."""
    monkeypatch.setenv("SUPERVISE_ATTEMPT", "3")
    monkeypatch.setenv("SUPERVISE_RUN_ID", "old-abc12")
    _ask("train.sh")
    assert not {"SUPERVISE_ATTEMPT", "SUPERVISE_RUN_ID"} & slurm.env.keys()


def test_with_wait_the_promise_comes_when_the_job_is_in(
    slurm: FakeSlurm, script: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when it ends; and the exit code is the job's."""
    slurm.says_later("later\n")
    slurm.says(stdout="Submitted batch job 5\n", code=9)
    told: list[str] = []

    def tell(text: str) -> None:
        told.extend([capfd.readouterr().out, text])
        slurm.goes_on()

    monkeypatch.setattr("supervisor.cli.sending._tell", tell)
    assert _ask("-W", "train.sh") == 9
    assert told[0] == "Submitted batch job 5\n"
    assert capfd.readouterr().out == "later\n"


def test_checkpoints_are_named_with_what_is_there(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative folder is meant from here, whoever reads it later."""
    monkeypatch.setattr(CheckpointLook.sentence, "__defaults__", (60.0,))
    (work / "ck").mkdir()
    _ask("train.sh", settings={"checkpoint": "ck"})
    assert read_run(_folders(work)[0]).settings.checkpoint == str(work / "ck")
    err = " ".join(capfd.readouterr().err.split())
    assert f"Checkpoints: {work / 'ck'} (no checkpoint yet: it holds nothing that is named by a step)." in err
    assert err.count("no checkpoint yet") == 1


@pytest.mark.parametrize(
    ("url", "why"), [("/no/such/place/ck", "there is no /no/such/place here"), ("foo://b/ck", "cannot be read from")]
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_checkpoint_folder_that_looks_wrong_is_told(
    slurm: FakeSlurm,
    script: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    why: str,
    *,
    dry_run: bool,
) -> None:
    """On stderr, once; the job is submitted all the same."""
    monkeypatch.setattr(CheckpointLook.sentence, "__defaults__", (60.0,))
    monkeypatch.setattr("supervisor.cli.checkpoint_look._DRY_RUN_S", 60.0)
    assert _ask("train.sh", settings={"checkpoint": url}, dry_run=dry_run) == 0
    err = " ".join(capfd.readouterr().err.split())
    assert f"WARNING: --checkpoint {url}: {why}" in err
    assert err.count("WARNING") == 1
    assert slurm.calls() == (0 if dry_run else 1)


def test_a_checkpoint_folder_that_does_not_answer_holds_nobody_up(
    slurm: FakeSlurm, script: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said that nobody looked."""
    monkeypatch.setattr(sys, "executable", str(_sleeper(slurm)))
    _ask("train.sh", settings={"checkpoint": "/ck"})
    assert "Checkpoints: /ck (not looked at)" in " ".join(capfd.readouterr().err.split())


def _sleeper(slurm: FakeSlurm) -> Path:
    path = slurm.bin / "python"
    path.write_text("#!/bin/sh\nexec sleep 300\n")
    path.chmod(0o755)
    return path


def test_an_array_is_told_to_be_many_runs(
    slurm: FakeSlurm, script: Path, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each task is a run of its own."""
    _ask("-a", "0-3", "train.sh")
    run = read_run(_folders(work)[0])
    assert run.array == "0-3"
    assert f"{run.run_id}-<task>" in capfd.readouterr().err


def test_python_scripts_bring_their_file(slurm: FakeSlurm, work: Path) -> None:
    """The wrapper runs it from the run folder."""
    (work / "train.py").write_text("#!/usr/bin/env python3\n#SBATCH -N 2\nprint(1)\n")
    _ask("train.py")
    (folder,) = _folders(work)
    assert (folder / "script/train.py").read_text() == (work / "train.py").read_text()
    assert (folder / "submitted/train.py").read_text().startswith("#!/bin/sh\n#SBATCH -N 2\n")


def test_a_script_in_a_container_is_refused(slurm: FakeSlurm, script: Path, work: Path, alone: Alone) -> None:
    """Inside there is neither srun nor we: the refusal says where the container belongs. Nothing was made."""
    script.write_text(SCRIPT.replace("#SBATCH -N 2", "#SBATCH --container-image img.sqsh -N 2"))
    with pytest.raises(UsageError, match="srun --container-image"):
        _ask("train.sh")
    assert (_folders(work), alone) == ([], [])


def test_a_heterogeneous_job_is_sbatchs_own(
    slurm: FakeSlurm, script: Path, work: Path, alone: Alone, capfd: pytest.CaptureFixture[str]
) -> None:
    """By `:` and by the script's own lines; that nobody watches it is said."""
    assert _ask("-N1", ":", "-N2", "train.sh") == 0
    script.write_text(SCRIPT.replace("#SBATCH -N 2", "#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -N 1"))
    assert _ask("train.sh") == 0
    assert alone == [(["-N1", ":", "-N2", "train.sh"], None), (["train.sh"], None)]
    assert capfd.readouterr().err.count("heterogeneous job") == 2
    assert _folders(work) == []
    with pytest.raises(UsageError, match="heterogeneous"):
        _ask("train.sh", settings={"spares": "1"})


def test_an_option_of_a_plugin_hides_none_behind_it(slurm: FakeSlurm, script: Path, work: Path) -> None:
    """Its value stands apart, and only `sbatch --help` tells that it has one: nodes and array are seen all the same."""
    (slurm.folder / "help").write_text("Options provided by plugins:\n      --site-thing=X   a thing\n")
    script.write_text(SCRIPT.replace("#SBATCH -N 2", "#SBATCH --site-thing x\n#SBATCH -N 3 -a 0-4"))
    assert _ask("train.sh") == 0
    run = read_run(_folders(work)[0])
    assert (run.nodes, run.array) == (3, "0-4")
