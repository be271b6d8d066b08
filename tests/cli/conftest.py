"""A user with a folder, a home and a Slurm that does what a test says."""

import os
from pathlib import Path

import pytest

from tests.slurm_submit.fakes import FakeSlurm


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """Its programs stand first on PATH."""
    fake = FakeSlurm(tmp_path)
    monkeypatch.setenv("PATH", f"{fake.bin}:{os.environ['PATH']}")
    return fake


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder the user stands in; nothing of the real user's settings is seen."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith(("SUPERVISE", "SBATCH", "SLURM", "XDG"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PWD", str(folder))
    monkeypatch.chdir(folder)
    return folder
