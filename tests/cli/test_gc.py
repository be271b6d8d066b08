"""`supervise gc`: what is over and old goes, and nothing else ever does."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor.cli import gc
from supervisor.cli.main import cli
from supervisor.errors import UsageError
from supervisor.ledger.removal import remove_run
from supervisor.ledger.run_file import encode_run
from supervisor.ledger.run_folder import SubmissionRecord, kept_in, note_submission
from supervisor.model.base import encode
from supervisor.model.ids import JobId, RunId
from tests.report.makers import run_file, status
from tests.slurm_submit.fakes import FakeSlurm

_DAY = 86_400.0
_Make = Callable[..., Path]
_Type = Callable[..., Result]


@pytest.fixture
def make(work: Path) -> _Make:
    """Makes a run folder with a job, as old as a test says."""

    def run(name: str, *, job: str = "17", days: float = 40, stage: str = "finished", cluster: str = "") -> Path:
        folder = work / ".supervise" / name
        (folder / "incidents/001").mkdir(parents=True)
        (folder / "run.json").write_bytes(encode_run(run_file(run_id=RunId(name))))
        (folder / "incidents/001/job.log").write_text("x" * 9000)
        if stage:
            (folder / "status.json").write_bytes(encode(status(run_id=RunId(name), job_id=JobId(job), stage=stage)))
        if job not in {"", "0"}:
            note_submission(folder, SubmissionRecord(at=1.0, job_id=JobId(job), cluster=cluster))
        age(folder, days)
        return folder

    (work / ".supervise").mkdir()
    (work / ".supervise/.gitignore").write_text("*\n")
    return run


def age(folder: Path, days: float) -> None:
    """Nothing in it was written for so long."""
    at = time.time() - days * _DAY
    for place in sorted(folder.rglob("*"), reverse=True):
        os.utime(place, (at, at), follow_symlinks=False)
    os.utime(folder, (at, at))


@pytest.fixture
def type_in(slurm: FakeSlurm, work: Path) -> _Type:
    """Runs `supervise WORDS`; Slurm knows no job."""
    slurm.queue("")

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, list(words))

    return run


def test_old_runs_go_and_young_ones_stay(type_in: _Type, make: _Make, work: Path) -> None:
    """With what they took; a month is the default."""
    old, young = make("old-aaaaa"), make("young-bbbbb", days=3)
    said = type_in("gc").stdout.splitlines()
    assert said[0].startswith("Removed 1 run folder (")
    assert said[0].endswith(" kB).")
    assert said[1].endswith(f" kB  {old}")
    assert said[2] == "  stays     1 run written to more lately"
    assert not old.exists()
    assert young.exists()
    assert type_in("gc", "--older", "2d").stdout.startswith("Removed 1 run folder (")
    assert list(work.iterdir()) == []  # the folder of run folders goes with the last of them


@pytest.mark.parametrize("words", [("gc", "--dry-run"), ("--dry-run", "gc")])
def test_a_dry_run_removes_nothing(type_in: _Type, make: _Make, words: tuple[str, ...]) -> None:
    """Wherever the option stands."""
    old = make("old-aaaaa")
    assert type_in(*words).stdout.startswith("Would remove 1 run folder (")
    assert (old / "run.json").exists()


@pytest.mark.parametrize("newest", ["status.json", "incidents/001/job.log", "incidents/001", "."])
def test_one_young_file_keeps_the_run(type_in: _Type, make: _Make, newest: str) -> None:
    """However deep it lies."""
    old = make("old-aaaaa")
    os.utime(old / newest)
    type_in("gc")
    assert (old / "run.json").exists()


@pytest.mark.parametrize("stage", ["running", "launching", ""])
def test_a_run_whose_end_nobody_told_stays_while_slurm_knows_its_job(
    type_in: _Type, make: _Make, slurm: FakeSlurm, stage: str
) -> None:
    """It may wait in the queue, or live without a supervisor; once Slurm has ended the job it goes."""
    old = make("old-aaaaa", stage=stage)
    slurm.queue("17|/x/submitted/train.sh\n")
    assert "job 17 is in the queue" in type_in("gc").stdout
    slurm.queue("171|/x/submitted/train.sh\n")
    type_in("gc")
    assert not old.exists()


def test_a_successor_in_the_queue_keeps_the_run(type_in: _Type, make: _Make, slurm: FakeSlurm) -> None:
    """Its folder is what the next job goes on from."""
    old = make("old-aaaaa")
    (old / "status.json").write_bytes(encode(status(stage="finished", successor=JobId("18"))))
    age(old, 40)
    slurm.queue("18|/x/submitted/train.sh\n")
    assert "job 18 is in the queue" in type_in("gc").stdout
    assert (old / "run.json").exists()


def test_a_task_of_an_array_stays_while_the_array_is_in_the_queue(
    type_in: _Type, make: _Make, slurm: FakeSlurm
) -> None:
    """Slurm's list names the array by its number."""
    old = make("old-aaaaa-3", job="17_3", stage="running")
    slurm.queue("17|/x/submitted/train.sh\n")
    type_in("gc")
    assert old.exists()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"stage": "running"}, "Slurm gives no answer about job 17"),
        ({"stage": "running", "cluster": "far"}, "job 17 is of cluster far"),
        ({"stage": "running", "job": "0"}, "there is no job to ask Slurm about"),
    ],
)
def test_what_nobody_knows_stays(type_in: _Type, make: _Make, slurm: FakeSlurm, made: dict[str, str], why: str) -> None:
    """A failed question is no answer."""
    if "cluster" not in made:
        (slurm.folder / "queue").unlink()
    old = make("old-aaaaa", **made)
    assert why in type_in("gc").stdout
    assert (old / "run.json").exists()


def test_slurm_is_asked_once_and_only_where_it_matters(type_in: _Type, make: _Make, slurm: FakeSlurm) -> None:
    """We are guests on the controller."""
    make("old-aaaaa")
    type_in("gc", "--dry-run")
    assert not (slurm.folder / "squeue-calls").exists()
    for number in range(5):
        make(f"old-{number}", stage="running")
    type_in("gc", "--dry-run")
    assert (slurm.folder / "squeue-calls").read_text() == "x\n"


def test_what_is_no_run_folder_is_never_touched(type_in: _Type, make: _Make, work: Path) -> None:
    """A folder without `run.json`, one whose `run.json` is none, a file."""
    make("old-aaaaa")
    (work / ".supervise/mine").mkdir()
    (work / ".supervise/notes").write_text("x")
    fake = work / ".supervise/fake"
    (fake / "run.json").mkdir(parents=True)
    broken = make("old-broken")
    (broken / "run.json").write_text("{torn")
    age(broken, 40)
    said = type_in("gc", str(work)).stdout
    assert sorted(path.name for path in (work / ".supervise").iterdir()) == [
        ".gitignore",
        "fake",
        "mine",
        "notes",
        "old-broken",
    ]
    assert f"{broken}: " in said


def _version(base: Path, name: str) -> Path:
    path = kept_in(base) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")
    age(path, 2)
    return path


def test_kept_versions_go_with_the_last_run_that_needs_them(type_in: _Type, make: _Make, work: Path) -> None:
    """What a living run was submitted with stays, however old; a dry run names what would go."""
    base = work / ".supervise"
    young, old = make("young-aaaaa", days=3), make("old-bbbbb")
    for folder, name in ((young, "1.tar.gz"), (old, "2.tar.gz")):
        run = run_file(run_id=RunId(folder.name), runtime=f"{kept_in(base).name}/{name}")
        (folder / "run.json").write_bytes(encode_run(run))
    age(old, 40)
    needed, other = _version(base, "1.tar.gz"), _version(base, "2.tar.gz")
    assert json.loads(type_in("gc", "--dry-run", "--json").stdout)["versions"] == [str(other)]
    assert other.exists()
    assert f"  unused    {other}" in type_in("gc").stdout
    assert needed.exists()
    assert not other.exists()


def test_one_run_that_cannot_be_read_keeps_all_versions(type_in: _Type, make: _Make, work: Path) -> None:
    """It may need any of them."""
    broken = make("broken-aaaaa", days=3)
    (broken / "run.json").write_text("{torn")
    version = _version(work / ".supervise", "1.tar.gz")
    type_in("gc")
    assert version.exists()


def test_links_are_never_followed(type_in: _Type, make: _Make, work: Path, tmp_path: Path) -> None:
    """Neither to a run folder, nor out of one, nor in the place of `.supervise`."""
    aside = tmp_path / "aside"
    make("old-aaaaa").rename(aside)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("x")
    (work / ".supervise/link").symlink_to(aside)
    old = make("old-bbbbb")
    (old / "out").symlink_to(precious)
    (old / "incidents/out").symlink_to(precious / "data")
    age(old, 40)
    type_in("gc")
    assert not old.exists()
    assert (precious / "data").read_text() == "x"
    assert (aside / "run.json").exists()
    for path in (work / ".supervise/link", work / "other"):
        (work / "other").unlink(missing_ok=True)
        (work / "other").symlink_to(work / ".supervise")
        assert isinstance(type_in("gc", str(path)).exception, UsageError)


def test_a_linked_base_is_left_alone(type_in: _Type, make: _Make, work: Path, tmp_path: Path) -> None:
    """What lies behind it may be anybody's."""
    old = make("old-aaaaa")
    (work / ".supervise").rename(tmp_path / "elsewhere")
    (work / ".supervise").symlink_to(tmp_path / "elsewhere")
    assert f"{work / '.supervise'} is a link" in type_in("gc").stdout
    assert (tmp_path / "elsewhere" / old.name / "run.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that belongs to another user")
def test_what_belongs_to_others_stays(type_in: _Type, make: _Make) -> None:
    """Root included: users must not be able to lay something ready for it."""
    old = make("old-aaaaa")
    os.chown(old, 12345, 12345)
    assert "it belongs to another user" in type_in("gc").stdout
    assert (old / "run.json").exists()


def test_paths_are_run_folders_or_hold_some(type_in: _Type, make: _Make, work: Path) -> None:
    """Nothing beside them is looked at."""
    one, two = make("old-aaaaa"), make("old-bbbbb")
    type_in("gc", str(one))
    assert (one.exists(), two.exists()) == (False, True)
    type_in("gc", str(work / ".supervise"))
    assert not two.exists()
    result = type_in("gc", str(work))
    assert isinstance(result.exception, UsageError)
    assert "holds no run folders" in str(result.exception)
    assert isinstance(type_in("gc", str(work / "none")).exception, UsageError)


@pytest.mark.parametrize("older", ["0d", "30", "1w", "-1d", "d"])
def test_an_age_that_cannot_be_meant_is_refused(type_in: _Type, older: str) -> None:
    """A day at least: a living run writes every few seconds."""
    assert "such as 30d" in str(type_in("gc", f"--older={older}").exception)


def test_json_tells_what_went_and_what_stays(type_in: _Type, make: _Make) -> None:
    """With the reasons."""
    old, young = make("old-aaaaa"), make("young-bbbbb", days=1.5)
    answer = json.loads(type_in("--json", "gc").stdout)
    assert [one["folder"] for one in answer["removed"]] == [str(old)]
    assert answer["removed"][0]["size_bytes"] > 8000
    assert [(one["folder"], one["why_kept"]) for one in answer["kept"]] == [(str(young), "last written 1 d 12 h ago")]


def test_what_cannot_be_removed_is_told(type_in: _Type, make: _Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """With code 1, after the others went."""
    old, other = make("old-aaaaa"), make("old-bbbbb")

    def refused(folder: Path) -> None:
        if folder == old:
            raise PermissionError(13, "Permission denied")
        remove_run(folder)

    monkeypatch.setattr(gc, "remove_run", refused)
    result = type_in("gc")
    assert result.exit_code == 1
    assert f"{old} could not be removed: Permission denied" in result.stderr
    assert result.stdout.startswith("Removed 1 run folder")
    assert (old.exists(), other.exists()) == (True, False)


def test_a_removal_that_breaks_off_leaves_a_run_folder(
    make: _Make, type_in: _Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run.json` goes last: the next gc knows what the rest is."""
    old = make("old-aaaaa")

    def broken(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    (old / "zzz").mkdir()  # the status is gone before it in any order of names
    age(old, 40)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", broken)
        assert type_in("gc").exit_code == 1
    assert (old / "run.json").exists()
    assert (old / "status.json").exists()
    age(old, 40)
    type_in("gc")
    assert not old.exists()
