"""The drill's own trainer, alone on this machine."""

import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.checkpoint.find import find_newest
from supervisor.drill import trainer

_LIMIT_S = 20.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("checkpoints", "data"):
        (tmp_path / name).mkdir()
    body = "1\n2\n3"
    (tmp_path / "data" / "shard-000.txt").write_text(f"{zlib.crc32(body.encode())}\n{body}")
    (tmp_path / "data" / "list.json").write_text('["shard-000.txt"]')
    return tmp_path


@pytest.fixture
def started(folder: Path) -> Iterator["list[subprocess.Popen[str]]"]:
    """What a test starts is gone after it."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def _start(folder: Path, started: "list[subprocess.Popen[str]]", *words: str, **env: str) -> "subprocess.Popen[str]":
    argv = [sys.executable, trainer.__file__, str(folder), "--step-s", "0.01", *words]
    clean = {"PATH": os.defpath, **env}
    started.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean))
    return started[-1]


def _ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    _, errors = process.communicate(timeout=_LIMIT_S)
    return process.returncode, errors


def _wait_for(folder: Path, pattern: str) -> Path:
    ends = time.monotonic() + _LIMIT_S
    while time.monotonic() < ends:
        if found := sorted(folder.glob(pattern)):
            return found[-1]
        time.sleep(0.02)
    raise TimeoutError(pattern)


def test_it_ends_in_good_order_and_goes_on_from_there(folder: Path, started: Any) -> None:
    """Told to end it saves; the next start begins with that step, as supervise would find it too."""
    first = _start(folder, started)
    _wait_for(folder, "checkpoints/step-000010.safetensors")
    trainer.write_whole(folder / "end.json", {})
    assert _ended(first) == (0, "")
    found = find_newest(str(folder / "checkpoints"), deadline_s=5.0)
    assert found.chosen is not None
    assert (found.chosen.verdict, found.chosen.kind) == ("whole", "safetensors")
    step, values = trainer.first_state(folder / "checkpoints")
    assert step == found.chosen.step >= 10
    assert values[0] == step


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("exception", "KeyError: 'loss_mask'"),
        ("port_in_use", "[Errno 98] Address already in use"),
        ("out_of_memory", "MemoryError"),
        ("bad_data", "OSError: Checksum failure: {folder}/data/shard-001.txt"),
    ],
)
def test_a_fault_on_order_is_a_real_one(folder: Path, started: Any, kind: str, words: str) -> None:
    """Once, with its moment noted before it; the next start does not have it again."""
    trainer.write_whole(folder / "order.json", {"number": 1, "kind": kind, "rank": -1})
    code, errors = _ended(_start(folder, started))
    assert code == 1
    assert words.format(folder=folder) in errors.strip().splitlines()[-1]
    told = json.loads((folder / "done-1.json").read_text())
    assert {"at", "node", "rank", "pid", "step"} == set(told)
    again = _start(folder, started, "--steps", "30", SUPERVISE_SKIP=f"{folder}/data/shard-001.txt")
    assert _ended(again) == (0, "")


def test_damaged_data_stay_damaged(folder: Path, started: Any) -> None:
    """Who does not leave them out meets them again."""
    trainer.write_whole(folder / "order.json", {"number": 1, "kind": "bad_data", "rank": -1})
    _ended(_start(folder, started))
    code, errors = _ended(_start(folder, started))
    assert (code, "Checksum failure" in errors) == (1, True)


def test_a_torn_checkpoint_is_passed_over(folder: Path, started: Any) -> None:
    """The newest one is no whole one any more, and its writer is dead."""
    process = _start(folder, started)
    _wait_for(folder, "checkpoints/step-000030.safetensors")
    trainer.write_whole(folder / "order.json", {"number": 1, "kind": "torn_checkpoint", "rank": 0})
    assert _ended(process) == (-9, "")
    found = find_newest(str(folder / "checkpoints"), deadline_s=5.0)
    assert found.chosen is not None
    assert [one.verdict for one in found.passed_over] == ["incomplete"]
    assert found.chosen.step == found.passed_over[0].step - 10


def test_an_order_for_another_rank_is_left_alone(folder: Path, started: Any) -> None:
    """Each rank has its own faults."""
    group = trainer.Group()
    group.ranks = 4
    trainer.write_whole(folder / "order.json", {"number": 1, "kind": "exception", "rank": 2})
    trainer.obey(folder, group, 5)
    assert not (folder / "done-1.json").exists()


def test_times_of_steps_are_measured_undisturbed(folder: Path, started: Any) -> None:
    """No order is looked for, nothing is saved; each step has its time."""
    trainer.write_whole(folder / "order.json", {"number": 1, "kind": "exception", "rank": -1})
    times = folder / "times.json"
    assert _ended(_start(folder, started, "--steps", "40", "--times", str(times))) == (0, "")
    took = json.loads(times.read_text())
    assert len(took) == 40
    assert min(took) >= 0.01
    assert not list((folder / "checkpoints").iterdir())
