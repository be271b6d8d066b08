"""Bundles on disk."""

from pathlib import Path

import pytest

from supervisor.diagnose import read
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.read import read_bundle
from supervisor.errors import PayloadRefused


def test_a_plain_file_is_a_bundle_with_one_log(tmp_path: Path) -> None:
    """`slurm-123.out` is enough."""
    path = tmp_path / "slurm-1.out"
    path.write_text("step 1\nsrun: error: node002: task 3: Out Of Memory\n")
    verdict = diagnose(read_bundle(path))
    assert verdict.cause == "host_oom"
    assert verdict.evidence[0].source == "slurm-1.out:2"


def test_a_folder_has_all_its_parts(tmp_path: Path) -> None:
    """Ranks, kernel, Slurm's words, facts, places and GPUs are read; all are optional."""
    for folder in ("ranks", "kernel", "nvml"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ranks" / "12.log").write_text("hello\n")
    (tmp_path / "kernel" / "node004.log").write_text("NVRM: Xid (PCI:0000:9d:00): 79\n")
    (tmp_path / "nvml" / "node004.json").write_text('{"gpus": {"3": {"pci": "00000000:9D:00.0"}}}')
    (tmp_path / "slurm.log").write_text("srun: error: node004: task 12: Killed\n")
    (tmp_path / "slurm.json").write_text('{"state": "FAILED", "exit_code": "0:9"}')
    (tmp_path / "job.json").write_text('{"ranks": {"12": {"node": "node004", "local_rank": 3, "gpu": 3}}}')
    (tmp_path / "facts.json").write_text('{"lost_nodes": []}')
    bundle = read_bundle(tmp_path)
    assert {log.name: (log.kind, log.rank, log.node) for log in bundle.logs} == {
        "ranks/12.log": ("ranks", 12, None),
        "kernel/node004.log": ("kernel", None, "node004"),
        "slurm.log": ("slurm", None, None),
    }
    assert (bundle.facts.job_state, bundle.facts.exit_signal) == ("FAILED", 9)
    verdict = diagnose(bundle)
    assert (verdict.cause, verdict.blame.gpus[0].gpu) == ("gpu_lost", 3)


def test_an_empty_folder_is_unknown(tmp_path: Path) -> None:
    """No evidence, no verdict, no error."""
    assert diagnose(read_bundle(tmp_path)).cause == "unattributed"


def test_a_broken_part_is_told(tmp_path: Path) -> None:
    """A JSON part of the wrong shape is named."""
    (tmp_path / "facts.json").write_text('{"lost_nodes": 3}')
    with pytest.raises(PayloadRefused, match=r"facts\.json"):
        read_bundle(tmp_path)


def test_of_a_large_file_its_beginning_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, and line numbers stay those of the file."""
    monkeypatch.setattr(read, "_HEAD_BYTES", 1000)
    monkeypatch.setattr(read, "_TAIL_BYTES", 1000)
    path = tmp_path / "big.log"
    path.write_text("".join(f"line {number}\n" for number in range(1, 10_001)))
    head, tail = read_bundle(path).logs
    assert head.lines[0] == "line 1"
    assert tail.lines[-1] == "line 10000"
    for log in (head, tail):
        assert [f"line {log.first + index}" for index in range(len(log.lines))] == list(log.lines)
