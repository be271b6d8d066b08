"""The run folder: made whole or not at all, private, found again."""

import os
import stat
from pathlib import Path

import pytest

from supervisor.errors import NoSuchRun, RunFolderUnusable
from supervisor.ledger.find_run import (
    INDEX_LIMIT_BYTES,
    IndexLine,
    find_run,
    folder_of_command,
    index_path,
    list_runs,
    note_run,
)
from supervisor.ledger.run_file import RunFile, encode_run, parse_run
from supervisor.ledger.run_folder import (
    SubmissionRecord,
    base_folder,
    create,
    discard,
    job_ids,
    note_submission,
    read_run,
    submissions,
)
from supervisor.model.ids import JobId, RunId
from supervisor.settings import Settings

RUN = RunFile(run_id=RunId("llama-abc12"), created_at=1.0, settings=Settings(spares=1), sbatch_args=("-N", "2"))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A user whose index is in the test's folder."""
    return {"HOME": str(tmp_path / "home")}


def _made(tmp_path: Path, run: RunFile = RUN) -> Path:
    folder = tmp_path / ".supervise" / run.run_id
    create(folder, run, {"keeper": (b"#!/bin/sh\n", 0o700), "submitted/t.sh": (b"x", 0o700)})
    return folder


def test_a_run_folder_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    """0700, with files of the modes asked for whatever the umask."""
    old = os.umask(0o077)
    try:
        folder = _made(tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "keeper").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "run.json").stat().st_mode) == 0o600
    assert (folder.parent / ".gitignore").read_text() == "*\n"


def test_the_run_file_reads_back(tmp_path: Path) -> None:
    """What was written is what a later process gets."""
    assert read_run(_made(tmp_path)) == RUN


def test_unknown_fields_of_a_newer_version_are_ignored() -> None:
    """A job outlives an update."""
    newer = encode_run(RUN).replace(b'"schema"', b'"schema"', 1).replace(b"{", b'{"newer": 1, ', 1)
    assert parse_run(newer) == RUN


def test_a_refused_submission_leaves_nothing(tmp_path: Path) -> None:
    """Neither the folder nor, where it was the only one, its base."""
    folder = _made(tmp_path)
    discard(folder)
    assert list(tmp_path.iterdir()) == []


def test_other_runs_stay_when_one_is_discarded(tmp_path: Path) -> None:
    """Only the own folder goes."""
    kept = _made(tmp_path, RunFile(run_id=RunId("other-abc12"), created_at=1.0))
    discard(_made(tmp_path))
    assert [path.name for path in kept.parent.iterdir() if path.is_dir()] == ["other-abc12"]


def test_a_base_shared_with_colleagues_is_as_open_as_its_folder(tmp_path: Path) -> None:
    """In a group's project folder everybody can submit."""
    tmp_path.chmod(0o2775)
    folder = _made(tmp_path)
    assert stat.S_IMODE(folder.parent.stat().st_mode) & 0o777 == 0o775
    assert stat.S_IMODE(folder.stat().st_mode) & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_a_base_that_somebody_laid_ready_in_tmp_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job would run what that user puts there."""
    tmp_path.chmod(0o1777)
    base = tmp_path / ".supervise"
    base.mkdir(mode=0o777)
    os.chown(base, 65534, 65534)
    with pytest.raises(RunFolderUnusable, match="SUPERVISE_HOME"):
        _made(tmp_path)


def test_what_cannot_be_written_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    """The caller then submits without supervision."""
    (tmp_path / ".supervise").write_text("a file in the way")
    with pytest.raises(RunFolderUnusable, match=r"Not a directory|File exists"):
        _made(tmp_path)
    assert (tmp_path / ".supervise").read_text() == "a file in the way"


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a run folder would be started by the guard."""

    def full(fd: int, mode: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(RunFolderUnusable, match="No space left"):
        _made(tmp_path)
    assert list(tmp_path.rglob("keeper")) == []


def test_arguments_that_are_no_utf8_are_said_to_be_so(tmp_path: Path) -> None:
    """JSON cannot hold them; the job then runs without supervision."""
    run = RunFile(run_id=RunId("a-abc12"), created_at=1.0, script_args=("\udce9",))
    with pytest.raises(RunFolderUnusable, match="not UTF-8"):
        _made(tmp_path, run)


def test_a_task_of_an_array_reads_its_own_run_id(tmp_path: Path) -> None:
    """Its `run.json` is a copy of the array's; the folder's name is the id."""
    run = RunFile(run_id=RunId("a-abc12"), created_at=1.0, array="0-3")
    folder = _made(tmp_path, run)
    task = folder.rename(folder.with_name("a-abc12-3"))
    assert read_run(task).run_id == "a-abc12-3"


def test_submissions_are_noted_and_a_torn_line_does_no_harm(tmp_path: Path) -> None:
    """Claims of jobs that nobody noted count too."""
    folder = _made(tmp_path)
    note_submission(folder, SubmissionRecord(at=1.0, job_id=JobId("17")))
    with (folder / "submissions.jsonl").open("a") as file:
        file.write('{"at": 2.0, "job_')
    (folder / "jobs").mkdir()
    (folder / "jobs/18.json").write_text("{}")
    assert [record.job_id for record in submissions(folder)] == ["17"]
    assert job_ids(folder) == ["17", "18"]


def test_supervise_home_moves_the_base(tmp_path: Path) -> None:
    """A relative one is meant from the folder of the submission."""
    assert base_folder(tmp_path, {}) == tmp_path / ".supervise"
    assert base_folder(tmp_path, {"SUPERVISE_HOME": "/scratch/me"}) == Path("/scratch/me")
    assert base_folder(tmp_path, {"SUPERVISE_HOME": "runs"}) == tmp_path / "runs"


def test_a_run_is_found_by_id_job_path_and_from_below(tmp_path: Path, env: dict[str, str]) -> None:
    """In the folder of the submission, below it, and by path."""
    folder = _made(tmp_path)
    note_submission(folder, SubmissionRecord(at=1.0, job_id=JobId("17")))
    below = tmp_path / "deeper"
    below.mkdir()
    assert find_run("llama-abc12", workdir=tmp_path, env=env) == folder
    assert find_run("llama-abc12", workdir=below, env=env) == folder
    assert find_run("17", workdir=tmp_path, env=env) == folder
    assert find_run(".supervise/llama-abc12", workdir=tmp_path, env=env) == folder


def test_the_index_finds_a_run_from_anywhere(tmp_path: Path, env: dict[str, str]) -> None:
    """A job id is enough wherever one stands, also for a task of an array."""
    folder = _made(tmp_path, RunFile(run_id=RunId("a-abc12"), created_at=1.0, array="0-3"))
    task = folder.with_name("a-abc12-3")
    create(task, RUN, {})
    note_run(IndexLine(run_id=RunId("a-abc12"), folder=str(folder), job_id=JobId("20")), env)
    elsewhere = Path("/")
    assert find_run("20", workdir=elsewhere, env=env) == folder
    assert find_run("20_3", workdir=elsewhere, env=env) == task
    assert find_run("20_2", workdir=elsewhere, env=env) == folder
    assert find_run("a-abc12-3", workdir=elsewhere, env=env) == task
    assert folder in list_runs(workdir=elsewhere, env=env)


def test_slurm_is_asked_last(tmp_path: Path, env: dict[str, str]) -> None:
    """A job submitted on another machine still shows its run folder in its Command."""
    folder = _made(tmp_path)
    command = f"{folder}/submitted/t.sh a b"
    assert find_run("99", workdir=Path("/"), env=env, ask=lambda job: command if job == "99" else "") == folder
    assert folder_of_command("/home/me/train.sh") is None
    assert folder_of_command("") is None


def test_an_unknown_run_is_refused_with_the_places_looked_at(tmp_path: Path, env: dict[str, str]) -> None:
    """So that the user knows where to go."""
    with pytest.raises(NoSuchRun, match=r"\.supervise"):
        find_run("nope", workdir=tmp_path, env=env)


def test_the_index_stays_bounded(env: dict[str, str]) -> None:
    """The older half goes when it grows beyond the limit."""
    for number in range(3):
        note_run(IndexLine(run_id=RunId(f"r{number}"), folder="/x" * (INDEX_LIMIT_BYTES // 5)), env)
    assert index_path(env).stat().st_size < INDEX_LIMIT_BYTES


def test_an_index_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """A full or missing home must not hold up a submission."""
    (tmp_path / "home").write_text("")
    note_run(IndexLine(run_id=RunId("r"), folder="/x"), {"HOME": str(tmp_path / "home")})
