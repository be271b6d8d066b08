"""A running job keeps the version that it was submitted with, whatever is installed meanwhile."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.ledger.run_folder import discard, kept_in
from supervisor.runtime import boot, kept, pack

_TELL = "import sys, supervisor.errors as e\nprint(e.WHO, sys.argv[1:], e.__file__)\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder, with a small version of ours kept beside it."""
    package = tmp_path / "old/supervisor"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "errors.py").write_text("WHO = 'old'\n")
    (package / "tell.py").write_text(_TELL)
    files = [(f"supervisor/{path.name}", str(path)) for path in package.iterdir()]
    monkeypatch.setattr(kept, "_sources", lambda: iter(files))
    folder = tmp_path / ".supervise/train-abc12"
    folder.mkdir(parents=True)
    (folder.parent / ".gitignore").write_text("*\n")
    (folder / "boot.py").write_bytes(Path(boot.__file__).read_bytes())
    (folder / "run.json").write_text(json.dumps({"runtime": kept.name()}))
    kept.keep(folder.parent, kept.name())
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A Python with another version installed."""
    home = tmp_path / "venv"
    packages = home / f"lib/python3.{sys.version_info.minor}/site-packages/supervisor"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text("")
    (packages / "errors.py").write_text("WHO = 'new'\n")
    (packages / "tell.py").write_text(_TELL)
    (home / "bin").mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    (home / "bin/python").symlink_to(base)
    (home / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    return home / "bin/python"


def _copy(run: Path) -> Path:
    (path,) = kept_in(run.parent).iterdir()
    return path


def _boot(python: Path, run: Path, node: Path) -> "subprocess.CompletedProcess[str]":
    node.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(node), "SLURM_JOB_ID": "17"}
    argv = [str(python), "-I", f"{run}/boot.py", str(run), "supervisor.tell", "a b", str(run)]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True)


def test_an_upgrade_does_not_reach_the_run(run: Path, installed: Path, tmp_path: Path) -> None:
    """Its processes load the kept version, from this node, and leave nothing there."""
    done = _boot(installed, run, tmp_path / "node")
    assert done.stdout.startswith(f"old ['a b', '{run}'] {tmp_path}/node/supervise-")
    assert done.stderr == ""
    assert list((tmp_path / "node").iterdir()) == []


def test_a_crash_is_told_with_its_lines(run: Path, installed: Path, tmp_path: Path) -> None:
    """They are read from what was unpacked, which goes afterwards."""
    (tmp_path / "old/supervisor/tell.py").write_text("raise ValueError('this line')\n")
    (run / "run.json").write_text(json.dumps({"runtime": kept.name()}))
    kept.keep(run.parent, kept.name())
    with pytest.raises(subprocess.CalledProcessError) as ended:
        _boot(installed, run, tmp_path / "node")
    assert "raise ValueError('this line')" in ended.value.stderr
    assert list((tmp_path / "node").iterdir()) == []


@pytest.mark.parametrize("damage", ["gone", "torn", "changed", "open", "other python"])
def test_a_version_that_cannot_be_used_is_told_once(run: Path, installed: Path, tmp_path: Path, damage: str) -> None:
    """The installed one goes on, in one line why."""
    path = _copy(run)
    if damage == "gone":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "changed":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
    elif damage == "open":
        path.chmod(0o666)
    else:
        (run / "run.json").write_text(json.dumps({"runtime": kept.name().replace(boot.PYTHON, "cpython-39-x86_64")}))
    done = _boot(installed, run, tmp_path / "node")
    assert done.stdout.startswith(f"new ['a b', '{run}'] ")
    assert done.stderr.startswith("supervise: supervisor.tell runs from the installed package: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["{}", '{"runtime": ""}', "{torn"])
def test_a_run_without_a_kept_version_runs_the_installed_one(
    run: Path, installed: Path, tmp_path: Path, text: str
) -> None:
    """One that an older version has submitted, for example: there is nothing to tell."""
    (run / "run.json").write_text(text)
    done = _boot(installed, run, tmp_path / "node")
    assert (done.stdout[:3], done.stderr) == ("new", "")


def test_it_is_kept_once_for_all_runs_of_a_version(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second submission writes nothing; one after an upgrade keeps another."""
    before = _copy(run).stat()
    os.utime(_copy(run), (1, 1))
    kept.keep(run.parent, kept.name())
    after = _copy(run).stat()
    assert (after.st_ino, after.st_mode & 0o777) == (before.st_ino, 0o600)
    assert after.st_mtime > 1  # in use again
    monkeypatch.setattr(kept, "_sources", lambda: iter([("errors.py", pack.__file__)]))
    kept.keep(run.parent, kept.name())
    assert len(list(kept_in(run.parent).iterdir())) == 2


def test_what_cannot_be_kept_leaves_nothing_behind(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, say."""

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    base = tmp_path / "elsewhere"
    base.mkdir()
    with pytest.raises(OSError, match="No space"):
        kept.keep(base, kept.name())
    assert list(base.iterdir()) == []


def test_what_was_never_compiled_is_compiled_once(run: Path) -> None:
    """An installer that compiles nothing must not cost each start of a supervisor a second."""
    members = boot._members(_copy(run).read_bytes())
    compiled = f"supervisor/__pycache__/errors.{sys.implementation.cache_tag}.pyc"
    assert members[compiled][0].startswith(importlib.util.MAGIC_NUMBER)
    assert not list(run.parents[1].rglob("*.pyc"))


def test_only_what_no_run_names_goes_and_never_at_once(run: Path) -> None:
    """A submission names its version before its run can be found."""
    at = _copy(run).stat().st_mtime
    assert kept.unused(run.parent, {kept.name()}, now=at + 1e6) == []
    assert kept.unused(run.parent, set(), now=at + 60) == []
    assert kept.unused(run.parent, set(), now=at + 1e6) == [_copy(run)]
    assert kept.unused(run.parent / "none", set(), now=at) == []


def test_a_refused_first_submission_leaves_nothing_behind(run: Path) -> None:
    """Neither the run folder nor the version that was kept for it."""
    discard(run)
    assert not run.parent.exists()


def test_all_that_a_job_starts_is_in_it() -> None:
    """No room that is kept imports one that is not: it would be missing, weeks later, or of another version."""
    names = {name for name, _ in kept._sources()}
    rooms = {name.split("/")[1].removesuffix(".py") for name in names if name.startswith("supervisor/")}
    assert {"daemon", "agent", "core", "slurm", "ledger", "errors", "settings"} <= rooms
    for name, path in kept._sources():
        if name.startswith("supervisor/") and name.endswith(".py"):
            text = Path(path).read_text(encoding="utf-8")
            for room in kept._LEFT_OUT:
                assert f"supervisor.{room}" not in text, name
    assert "supervisor/diagnose/taxonomy.toml" in names
    assert "supervisor/slurm/shim/srun" in names


def test_a_supervisor_starts_from_it_with_nothing_else(tmp_path: Path) -> None:
    """All modules of the supervisor load from the unpacked copy, none of ours from elsewhere."""
    kept.keep(tmp_path, kept.name())
    content = (tmp_path / kept.name()).read_bytes()
    (tmp_path / "node").mkdir(mode=0o700)
    root = boot.unpack(content, {"TMPDIR": str(tmp_path / "node")}, tmp_path)
    assert root is not None
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import supervisor.daemon.main, supervisor.daemon.take_over\n"
        "ours = [m.__file__ for n, m in sys.modules.items() if n.startswith(('supervisor', 'msgspec', 'structlog'))]\n"
        "print([file for file in ours if file and not file.startswith(sys.argv[1])])"
    )
    argv = [sys.executable, "-I", "-c", code, str(root)]
    assert subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout == "[]\n"
    assert len(gzip.decompress(content)) < 25_000_000
