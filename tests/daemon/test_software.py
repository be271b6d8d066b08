"""What an attempt ran with, found out from real repositories and folders, and compared with good runs on disk."""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.core.events import Progressed
from supervisor.core.instructions import LaunchAttempt
from supervisor.daemon.hands import software as hand
from supervisor.daemon.software import gather as gathering
from supervisor.daemon.software import good_run, repository, script
from supervisor.daemon.software.gather import gather
from supervisor.daemon.world import World
from supervisor.ledger.event_log import FILE, EventLog
from supervisor.ledger.run_file import RunFile, encode_run
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId
from supervisor.model.software import Hunk, Software
from supervisor.model.status import RunStatus
from supervisor.model.wire import NodeFacts
from supervisor.slurm.guard import carry, without_guard

_ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    **{f"GIT_{who}_{what}": "x@y.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, env=_ENV, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "code"
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text("import torch\neval_batch = 4\n")
    (folder / "big.txt").write_text("x\n" * 10)
    _commit(folder)
    return folder


def _commit(folder: Path) -> str:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "x")
    return _git(folder, "rev-parse", "HEAD")


def _state(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*"))


async def test_a_clean_repository_has_commit_and_branch(code: Path) -> None:
    """Asked from a folder below it; nothing of it is touched."""
    (code / "jobs").mkdir()
    before = _state(code)
    found = await repository.read_git(str(code / "jobs"))
    assert found is not None
    assert (found.root, found.commit, found.branch) == (str(code), _git(code, "rev-parse", "HEAD"), "main")
    assert (found.dirty, found.hunks, found.is_cut) == ((), (), False)
    assert _state(code) == before


async def test_uncommitted_lines_are_kept_without_secrets(code: Path) -> None:
    """Staged or not; a token in a line is gone before it reaches the disk."""
    (code / "train.py").write_text("import torch\neval_batch = 8\nHF_TOKEN = 'hf_abcdefghijklmnopqrstuvwx'\n")
    (code / "with space.py").write_text("new\n")
    _git(code, "add", "with space.py")
    found = await repository.read_git(str(code))
    assert found is not None
    assert found.dirty == ("train.py", "with space.py")
    assert found.hunks == (
        Hunk(path="train.py", line=2, old=("eval_batch = 4",), new=("eval_batch = 8", "HF_TOKEN = '***'")),
        Hunk(path="with space.py", line=1, new=("new",)),
    )


async def test_a_private_key_in_a_change_is_not_kept(code: Path) -> None:
    """Its lines are no secrets one by one."""
    body = "MIIEpAIBAAKCAQEAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----\n"
    (code / "train.py").write_text(f"import torch\n{key}eval_batch = 4\n")
    found = await repository.read_git(str(code))
    assert found is not None
    assert body.encode() not in encode(found)
    assert "***" in found.hunks[0].new[0]


async def test_of_a_huge_diff_the_small_files_are_kept(code: Path) -> None:
    """Others are named, and `is_cut` says so; a binary file's lines are never asked for."""
    (code / "train.py").write_text("import torch\neval_batch = 8\n")
    (code / "big.txt").write_text("y\n" * 100_000)
    (code / "long.js").write_text("z" * 3_000_000)
    (code / "blob.bin").write_bytes(bytes(range(256)) * 100)
    _git(code, "add", "-A")
    found = await repository.read_git(str(code))
    assert found is not None
    assert {hunk.path for hunk in found.hunks} == {"train.py"}
    assert set(found.dirty) == {"train.py", "big.txt", "long.js", "blob.bin"}
    assert found.is_cut
    assert len(encode(found)) < 5_000


async def test_what_was_committed_since(code: Path) -> None:
    """Between two commits; of a commit that git does not know there is nothing to tell."""
    old = _git(code, "rev-parse", "HEAD")
    (code / "train.py").write_text("import torch\neval_batch = 8\n")
    new = _commit(code)
    assert await repository.differences(str(code), old, new) == (
        Hunk(path="train.py", line=2, old=("eval_batch = 4",), new=("eval_batch = 8",)),
    )
    assert await repository.differences(str(code), "0" * 40, new) == ()


async def test_where_git_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository, none with a commit, a folder that is not there, no git at all, no permission."""
    _git(tmp_path, "init", "-q", "empty")
    broken = tmp_path / "broken"
    (broken / ".git").mkdir(parents=True)
    (broken / ".git/HEAD").write_bytes(b"\0\xff")
    for folder in (tmp_path, tmp_path / "empty", tmp_path / "missing", broken):
        assert await repository.read_git(str(folder)) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await repository.read_git(str(tmp_path / "empty")) is None


async def test_a_git_that_hangs_is_left_at_the_deadline(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead filesystem costs the deadline, not the job."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nsleep 60\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(repository, "ASK_S", 0.2)
    began = time.monotonic()
    assert await repository.read_git(str(code)) is None
    assert time.monotonic() - began < 3


async def test_no_program_of_the_repository_is_run(code: Path, tmp_path: Path) -> None:
    """A repository may name programs for diffs and for watching files; none is started."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "diff.x.command", "diff.x.textconv"):
        _git(code, "config", key, str(trap))
    (code / ".gitattributes").write_text("*.py diff=x\n")
    (code / "train.py").write_text("changed\n")
    found = await repository.read_git(str(code))
    assert found is not None
    assert found.dirty == ("train.py",)
    assert not (tmp_path / "sprung").exists()


def _run(workdir: Path, **more: Any) -> RunFile:
    return RunFile(**{"run_id": RunId("llama-abc12"), "created_at": 1.0, "workdir": str(workdir), **more})


async def test_the_surroundings_of_a_script(code: Path, tmp_path: Path) -> None:
    """Packages by the names of their folders, modules of job and script, an image with its size; no secrets."""
    packages = code / "venv/lib/python3.11/site-packages"
    for name in ("torch-2.7.1+cu126.dist-info", "Flash_Attn-2.8.dist-info", "numpy", "x.dist-info"):
        (packages / name).mkdir(parents=True)
    (code / "venv/pyvenv.cfg").touch()
    (code / "image.sqsh").write_bytes(b"12345")
    text = (
        "#!/bin/bash\n#SBATCH -N2\nmodule purge\nmodule load cuda/12.6 nccl\nsource venv/bin/activate\n"
        "export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\nsrun --container-image=image.sqsh python t.py\n"
    )
    carried = carry(text, keeper="/run folder/keeper", file="/x")
    assert carried is not None
    run = _run(code, script_text=carried.text, script_name="a.sh", script_args=("--token", "swordfish"))
    env = {"LOADEDMODULES": "gcc/12:cuda/12.6", "HOME": str(tmp_path), "SECRET_VALUE": "never"}
    found = await gather(run, env, driver="570.1")
    assert found.packages == {"torch": "2.7.1+cu126", "flash-attn": "2.8"}
    assert found.modules == ("gcc/12", "cuda/12.6", "nccl")
    assert found.python == str(code / "venv")
    assert found.container.startswith("image.sqsh (5 bytes, ")
    assert (found.driver, found.arguments) == ("570.1", ("--token", "***"))
    assert found.git is not None
    assert found.git.root == str(code)
    assert "SUPERVISE_ATTEMPT" not in found.script
    written = encode(found)
    assert not any(secret in written for secret in (b"0123456789abcdef0", b"swordfish", b"never"))


async def test_folders_that_cannot_be_read_leave_the_rest(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission, or a filesystem that never answers: packages stay empty, git and modules are there."""

    def refused(*_: object) -> None:
        raise PermissionError(13, "denied")

    run = _run(code, script_text="#!/bin/sh\nmodule load gcc\n", script_name="a.sh")
    monkeypatch.setattr(gathering, "_read", refused)
    found = await gather(run, {})
    assert (found.packages, found.python, found.modules) == ({}, "", ("gcc",))
    assert found.git is not None
    monkeypatch.setattr(gathering, "_read", lambda *_: time.sleep(1))
    monkeypatch.setattr(gathering, "_FILES_S", 0.05)
    assert (await gather(run, {})).packages == {}


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\nsrun a\n", "#!/bin/bash -x\nsrun a\n", "#!/usr/bin/env python3\nprint(1)\n"]
)
def test_the_guard_comes_off_again(text: str) -> None:
    """Two runs of one script have the same text, whatever folder their keeper lies in."""
    carried = carry(text, keeper="/home/me/my run's/keeper", file="/home/me/my run's/script/a")
    assert carried is not None
    plain = without_guard(carried.text)
    assert "SUPERVISE_ATTEMPT" not in plain
    assert "/home/me" not in plain
    assert carried.needs_file or plain == text
    assert without_guard(text) == text


def test_what_a_script_names() -> None:
    """Conda by name, Apptainer's image, variables of Slurm's plugins; `module purge` loads nothing."""
    text = "conda activate train\nml purge; ml\nmodule use /x\nml gcc/12 $X\napptainer exec --nv my.sif python t.py\n"
    assert script.python_folders({"CONDA_EXE": "/opt/conda/bin/conda"}, text, "/w") == ("/opt/conda/envs/train",)
    assert script.python_folders({}, "", "/w", ("srun", "env/bin/python3", "t.py")) == ("/w/env",)
    assert script.modules({}, text) == ("gcc/12",)
    assert script.container({}, (), text) == "my.sif"
    assert script.container({}, ("--container-image", "nvcr.io#a:1"), "") == "nvcr.io#a:1"
    assert script.container({"PYXIS_CONTAINER_IMAGE": "b"}, (), text) == "b"
    assert script.container({}, (), "") == ""


class _Runs:
    """Run folders beside each other."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def add(self, run_id: str, software: Software, *, workdir: str = "/w", attempt: int = 1, **status: Any) -> Path:
        folder = self.base / run_id
        (folder / f"attempts/{attempt:03d}").mkdir(parents=True)
        run = RunFile(run_id=RunId(run_id), created_at=1.0, workdir=workdir)
        (folder / "run.json").write_bytes(encode_run(run))
        (folder / f"attempts/{attempt:03d}/software.json").write_bytes(encode(software))
        told = RunStatus(
            run_id=RunId(run_id), job_id=JobId("79990"), updated_at=1.0, attempt=AttemptNo(attempt), **status
        )
        (folder / "status.json").write_bytes(encode(told))
        return folder


@pytest.fixture
def runs(tmp_path: Path) -> _Runs:
    """None yet."""
    return _Runs(tmp_path / ".supervise")


_GOOD = Software(modules=("good",))


def _since(folder: Path, attempt: int = 1) -> list[str]:
    run = RunFile(run_id=RunId(folder.name), created_at=1.0, workdir="/w")
    return [one.since for one in good_run.good_runs(folder, run, AttemptNo(attempt))]


def test_a_completed_run_of_the_same_name_is_good(runs: _Runs) -> None:
    """Before one that only made progress; not one of another name or folder, nor one that failed at its start."""
    here = runs.add("my-llama-abc12", _GOOD, stage="running")
    runs.add("my-llama-aaaaa", _GOOD, stage="finished", exit_code=0)
    runs.add("my-llama-bbbbb", _GOOD, stage="finished", exit_code=1, step=5)
    runs.add("my-llama-ccccc", _GOOD, stage="finished", exit_code=1)
    runs.add("my-llama-ddddd", _GOOD, stage="finished", exit_code=0, workdir="/elsewhere")
    runs.add("my-aaaaa", _GOOD, stage="finished", exit_code=0)
    (runs.base / "my-llama-eeeee").mkdir()
    (runs.base / "my-llama-fffff").write_text("no folder")
    assert _since(here) == ["job 79990 (completed)", "job 79990 (made progress)"]


def test_an_unreadable_record_is_passed_over(runs: _Runs) -> None:
    """Torn by a full disk, or of a newer version."""
    here = runs.add("a-abc12", _GOOD, stage="running")
    other = runs.add("a-aaaaa", _GOOD, stage="finished", exit_code=0)
    (other / "attempts/001/software.json").write_bytes(b'{"git": 7')
    assert _since(here) == []


async def test_an_earlier_attempt_with_progress_is_good(runs: _Runs) -> None:
    """The newest first; the attempt itself, and one without progress, are not."""
    here = runs.add("a-abc12", _GOOD, attempt=1, stage="running")
    for number in (2, 3):
        (here / f"attempts/{number:03d}").mkdir()
        (here / f"attempts/{number:03d}/software.json").write_bytes(encode(_GOOD))
    with closing(Writer()) as writer:
        log = EventLog(here / FILE, writer)
        for number in (1, 3):
            log.append(Progressed(at=1.0, attempt=AttemptNo(number), step=5))
        await log.flushed(2)
    assert _since(here, attempt=3) == ["attempt 1 (made progress)"]
    assert _since(here, attempt=4) == ["attempt 3 (made progress)", "attempt 1 (made progress)"]


@pytest.mark.parametrize(
    ("run_id", "name"),
    [("llama-7b-abc12", "llama-7b"), ("llama-abc12-17", "llama"), ("x", "x"), ("a-toolong", "a-toolong")],
)
def test_a_job_name_from_a_run_id(run_id: str, name: str) -> None:
    """The suffix goes, and the task's number with it."""
    assert good_run.job_name(RunId(run_id)) == name


def _world(folder: Path, workdir: Path, writer: Writer) -> World:
    facts = NodeFacts(driver_version="570.1")
    world = SimpleNamespace(
        folder=folder,
        writer=writer,
        run=RunFile(run_id=RunId(folder.name), created_at=1.0, workdir=str(workdir)),
        around=SimpleNamespace(nodes=(NodeName("n1"), NodeName("n2"))),
        roster=SimpleNamespace(facts=lambda node: facts if node == "n1" else None),
        attempt_folder=lambda attempt: folder / "attempts" / f"{attempt:03d}",
    )
    return cast("World", world)


async def test_from_the_start_of_an_attempt_to_what_changed(code: Path, runs: _Runs) -> None:
    """A completed run, an edit that is committed, another run that fails: the line that changed is told."""
    with closing(Writer()) as writer:
        before = runs.add("t-aaaaa", Software(), workdir=str(code), stage="finished", exit_code=0)
        await hand.remember(_world(before, code, writer), _launch(1))
        await writer.flushed(2)
        (code / "train.py").write_text("import torch\neval_batch = 8\n")
        _commit(code)
        here = runs.add("t-bbbbb", Software(), workdir=str(code), stage="running")
        await hand.remember(_world(here, code, writer), _launch(1))
        await writer.flushed(2)
        found = await hand.since_last_good(_world(here, code, writer), AttemptNo(1))
    assert found["driver"] == "570.1"
    assert found["changed"]["since"] == "job 79990 (completed)"
    assert found["changed"]["what"][0] == "train.py:2 eval_batch 4 -> 8"
    assert found["changed"]["what"][1].startswith("commit ")


async def test_an_attempt_that_was_not_recorded_is_looked_at_now(code: Path, tmp_path: Path) -> None:
    """The keeper may have started it by itself; where nothing is to compare with, nothing has changed."""
    folder = tmp_path / ".supervise/t-aaaaa"
    folder.mkdir(parents=True)
    with closing(Writer()) as writer:
        found = await hand.since_last_good(_world(folder, code, writer), AttemptNo(1))
    assert found["git"]["root"] == str(code)
    assert "changed" not in found


def _launch(attempt: int) -> LaunchAttempt:
    return LaunchAttempt(attempt=AttemptNo(attempt), nodes=(NodeName("n1"),))


async def _forever(*_: object, **__: object) -> Software:
    await asyncio.sleep(60)
    raise AssertionError


def _broken(*_: object, **__: object) -> list[good_run.Good]:
    raise RuntimeError("a fault of our own")


@pytest.mark.parametrize(("name", "stands_for"), [("gather", _forever), ("good_runs", _broken)])
async def test_no_job_fails_for_want_of_it(
    name: str, stands_for: Callable[..., Any], code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late or broken: no record, an empty environment, and a verdict without it."""
    monkeypatch.setattr(hand, name, stands_for)
    monkeypatch.setattr(hand, "_RECORD_S", 0.1)
    monkeypatch.setattr(hand, "_COMPARE_S", 0.1 if name == "gather" else 5.0)
    with closing(Writer()) as writer:
        world = _world(tmp_path / "t-aaaaa", code, writer)
        await hand.remember(world, _launch(1))
        await writer.flushed(2)
        assert await hand.since_last_good(world, AttemptNo(1)) == {}
    assert (tmp_path / "t-aaaaa/attempts/001/software.json").exists() is (name != "gather")
