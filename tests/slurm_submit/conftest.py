"""A Slurm that does what a test says."""

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
