"""The PyTorch example: the same story with DDP and distributed checkpoints."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from supervisor.checkpoint.find import find_newest
from tests.examples.launch import EXAMPLES, run

_PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)


@cache
def _has_torch() -> bool:
    return subprocess.run([_PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode == 0


@pytest.fixture(autouse=True)
def _needs_torch() -> None:
    if not _has_torch():
        pytest.skip(f"{_PYTHON} cannot import torch; name an interpreter that can with TORCH_PYTHON")


def _train(folder: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    launcher = [_PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = ["--checkpoint", str(folder / "ck"), "--out", str(folder / "out")]
    return run([*launcher, str(EXAMPLES / "torch_ddp" / "train.py"), "--steps", "20", *paths, *options], **env)


def _sha(folder: Path) -> str:
    return str(json.loads((folder / "out" / "result.json").read_text())["sha256"])


@pytest.mark.torch
def test_an_interruption_changes_nothing(tmp_path: Path) -> None:
    """A rank fails in the middle; the next launch goes on from the newest whole folder to the same weights."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    first = _train(whole)
    assert first.returncode == 0, first.stderr
    assert _train(broken, "--raise-at", "1:15").returncode == 1
    newest = find_newest(str(broken / "ck"), deadline_s=30).chosen
    assert newest is not None
    assert (newest.step, newest.kind) == (10, "dcp")
    again = _train(broken, SUPERVISE_RESUME_FROM=newest.path, SUPERVISE_RESUME_STEP="10")
    assert again.returncode == 0, again.stderr
    assert f"resumed from {newest.path} at step 10" in again.stdout
    assert _sha(broken) == _sha(whole)


@pytest.mark.torch
def test_a_folder_without_metadata_is_passed_over(tmp_path: Path) -> None:
    """A distributed checkpoint that was being written is not resumed from, by us or by the script."""
    assert _train(tmp_path).returncode == 0
    (tmp_path / "ck" / "step-000020" / ".metadata").unlink()
    choice = find_newest(str(tmp_path / "ck"), deadline_s=30)
    assert choice.chosen is not None
    assert choice.chosen.step == 10
    assert choice.passed_over[0].verdict == "incomplete"
    assert "at step 10" in _train(tmp_path).stdout
