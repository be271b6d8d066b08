"""Bundles, run folders and single files on disk."""

import gzip
import os
import sys
from pathlib import Path

import pytest

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.errors import PayloadRefused


def _zstd(data: bytes) -> bytes:
    """By what this Python has: a library of its own, or the extra."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.compress(data)
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


_OOM = "step 1\nsrun: error: node002: task 3: Out Of Memory\n"


def test_a_plain_file_is_a_bundle_with_one_log(tmp_path: Path) -> None:
    """`slurm-123.out` is enough."""
    path = tmp_path / "slurm-1.out"
    path.write_text(_OOM)
    verdict = diagnose(read_bundle(path))
    assert verdict.cause == "host_oom"
    assert verdict.evidence[0].source == "slurm-1.out:2"


@pytest.mark.parametrize("packed", [gzip.compress, _zstd])
def test_a_compressed_file(tmp_path: Path, packed: object) -> None:
    """Gzip and Zstandard are told by their first bytes."""
    path = tmp_path / "old.out"
    path.write_bytes(packed(_OOM.encode()))  # type: ignore[operator]  # two functions of the same form
    assert diagnose(read_bundle(path)).cause == "host_oom"


def test_a_compressed_file_that_ends_early(tmp_path: Path) -> None:
    """What could be read counts, and that there is no more is said."""
    path = tmp_path / "cut.log.gz"
    path.write_bytes(gzip.compress((_OOM * 2000).encode() + os.urandom(4000).hex().encode())[:-30])
    verdict = diagnose(read_bundle(path))
    assert verdict.cause == "host_oom"
    assert "cut.log.gz: the compressed file ends too early" in verdict.unread[0]


@pytest.mark.parametrize("packed", [gzip.compress, _zstd])
def test_a_compressed_file_that_is_damaged(tmp_path: Path, packed: object) -> None:
    """What comes before the damage counts, and the file is named."""
    steps = "".join(f"step {number} loss {number * 0.7303 % 1:.6f}\n" for number in range(200_000))
    data = bytearray(packed(f"{_OOM}\n{steps}".encode()))  # type: ignore[operator]  # two functions of the same form
    middle = len(data) // 2
    data[middle : middle + 1000] = bytes(1000)
    (tmp_path / "old.log").write_bytes(data)
    verdict = diagnose(read_bundle(tmp_path / "old.log"))
    assert any("Out Of Memory" in one.text for one in verdict.evidence)
    assert "old.log: the compressed file is damaged" in verdict.unread[0]


def test_a_compressed_file_that_is_whole(tmp_path: Path) -> None:
    """Nothing is said of it."""
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(_OOM.encode()) + gzip.compress(_OOM.encode()))
    assert not diagnose(read_bundle(tmp_path / "old.log.gz")).unread


def test_a_zstandard_file_of_several_frames(tmp_path: Path) -> None:
    """`zstd >> old.log.zst`: the last attempt stands in the last one."""
    path = tmp_path / "old.log.zst"
    path.write_bytes(_zstd(b"step 1 loss 2\n") + _zstd(_OOM.encode()))
    assert diagnose(read_bundle(path)).cause == "host_oom"


@pytest.mark.parametrize("folder", ["ranks", "stacks"])
def test_a_zstandard_file_that_is_damaged(tmp_path: Path, folder: str) -> None:
    """What comes before the damage counts, and so does all that lies beside it."""
    noise = os.urandom(400_000).hex().encode()
    data = bytearray(_zstd(f"{_OOM}\n".encode() + noise))
    data[-1000] ^= 0xFF
    data[-100_000:-99_000] = bytes(1000)
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "3.log.zst").write_bytes(data)
    (tmp_path / "slurm.log").write_text("srun: error: node002: task 3: Killed\n")
    verdict = diagnose(read_bundle(tmp_path))
    assert (verdict.cause == "host_oom") == (folder == "ranks")
    assert any(one.source.startswith("slurm.log") for one in verdict.evidence)


def test_without_its_library_a_zstandard_file_is_named_and_the_others_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extra that is not installed costs one file, not the diagnosis."""
    for name in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks" / "3.log.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(30))
    (tmp_path / "slurm.log").write_text(_OOM)
    verdict = diagnose(read_bundle(tmp_path))
    assert verdict.cause == "host_oom"
    assert "slurm-supervise[zstd]" in verdict.unread[0]


def test_the_error_file_beside_the_output(tmp_path: Path) -> None:
    """A job's .err belongs to its .out."""
    (tmp_path / "a-1.out").write_text("step 1 loss 2\n")
    (tmp_path / "a-1.err").write_text(_OOM)
    verdict = diagnose(read_bundle(tmp_path / "a-1.out"))
    assert verdict.evidence[0].source == "a-1.err:2"


def test_the_error_file_whose_name_begins_so(tmp_path: Path) -> None:
    """`err.81234` beside `out.81234`."""
    (tmp_path / "out.81234").write_text("step 1 loss 2\n")
    (tmp_path / "err.81234").write_text(_OOM)
    assert diagnose(read_bundle(tmp_path / "out.81234")).cause == "host_oom"


@pytest.mark.parametrize(
    "name", ["log.gridFoam", "out.81234", "rsl.error.0000", "solver.o81234.3", "stderr", "CRASH", "slurm.81234.gz"]
)
def test_a_folder_with_logs_as_solvers_name_them(name: str, tmp_path: Path) -> None:
    """They have no extension of a log."""
    text = _OOM.encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert diagnose(read_bundle(tmp_path)).cause == "host_oom"


@pytest.mark.parametrize("name", ["log.json", "out.parquet", "catalogue", "grid.out_old.nc"])
def test_a_folder_with_what_is_no_log(name: str, tmp_path: Path) -> None:
    """Its name begins like that of one."""
    (tmp_path / name).write_text(_OOM)
    with pytest.raises(PayloadRefused):
        read_bundle(tmp_path)


def test_a_folder_has_all_its_parts(tmp_path: Path) -> None:
    """Ranks, kernel, Slurm's words, facts, places and GPUs are read; all are optional."""
    for folder in ("ranks", "kernel", "nvml"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ranks" / "12.log").write_text("hello\n")
    (tmp_path / "kernel" / "node004.log").write_text("NVRM: Xid (PCI:0000:9d:00): 79, pid=1, GPU has fallen off\n")
    (tmp_path / "nvml" / "node004.json").write_text('{"gpus": {"3": {"pci": "00000000:9D:00.0"}}}')
    (tmp_path / "slurm.log").write_text("srun: error: node004: task 12: Killed\n")
    (tmp_path / "slurm.json").write_text('{"state": "FAILED", "exit_code": "0:9"}')
    (tmp_path / "job.json").write_text(
        '{"nodes": "node[003-004]", "ranks": {"12": {"node": "node004", "local_rank": 3, "gpu": 3}},'
        ' "layout": {"12": {"tp": 1, "dp": 0}}}'
    )
    (tmp_path / "facts.json").write_text('{"lost_nodes": []}')
    bundle = read_bundle(tmp_path)
    assert {log.name: (log.kind, log.rank, log.node) for log in bundle.logs} == {
        "ranks/12.log": ("ranks", 12, None),
        "kernel/node004.log": ("kernel", None, "node004"),
        "slurm.log": ("slurm", None, None),
    }
    assert (bundle.facts.job_state, bundle.facts.exit_signal) == ("FAILED", 9)
    assert bundle.nodes == ("node003", "node004")
    assert bundle.layout == {12: {"tp": 1, "dp": 0}}
    verdict = diagnose(bundle)
    assert (verdict.cause, verdict.blame.gpus[0].gpu) == ("gpu_lost", 3)


def test_a_run_folder_stands_for_its_last_incident(tmp_path: Path) -> None:
    """The newest incident's evidence is read."""
    for number, line in (("001", "MemoryError\n"), ("002", _OOM)):
        folder = tmp_path / "incidents" / number
        folder.mkdir(parents=True)
        (folder / "slurm.log").write_text(line)
    assert [log.name for log in read_bundle(tmp_path).logs] == ["slurm.log"]
    assert diagnose(read_bundle(tmp_path)).cause == "host_oom"


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    """What to put there is said."""
    with pytest.raises(PayloadRefused, match=r"ranks/<rank>\.log"):
        read_bundle(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("facts.json", '{"lost_nodes": 3}'),
        ("slurm.json", '{"state": "FAI'),
        ("job.json", "[1, 2]"),
        ("nvml/n1.json", "x"),
        ("facts.json", "[" * 100_000),
        ("flight/rank_0", "cos\nsystem\n(S'true'\ntR."),
    ],
)
def test_a_broken_part_is_left_out_and_told(tmp_path: Path, name: str, text: str) -> None:
    """Truncated JSON, wrong types: the part is named, the others still count."""
    (tmp_path / "slurm.log").write_text(_OOM)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    verdict = diagnose(read_bundle(tmp_path))
    assert verdict.cause == "host_oom"
    assert [name.rpartition("/")[2] in one for one in verdict.unread] == [True]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """A pipe would be waited for without end."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PayloadRefused, match="pipe"):
        read_bundle(tmp_path / "pipe")
    with pytest.raises(PayloadRefused, match="device"):
        read_bundle(Path("/dev/zero"))


def test_a_pipe_or_a_link_outside_in_a_bundle_is_left_out(tmp_path: Path) -> None:
    """Somebody else's bundle cannot make us read another file, or wait."""
    folder = tmp_path / "bundle"
    (folder / "ranks").mkdir(parents=True)
    (tmp_path / "secret").write_text("MemoryError\n")
    (folder / "ranks" / "0.log").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "ranks" / "1.log")
    (folder / "slurm.log").write_text(_OOM)
    bundle = read_bundle(folder)
    assert [log.name for log in bundle.logs] == ["slurm.log"]
    assert len(bundle.unread) == 2


def test_line_numbers_of_a_large_file(tmp_path: Path) -> None:
    """However the file is read in pieces, a line keeps its number."""
    path = tmp_path / "big.log"
    with path.open("w") as file:
        for number in range(1, 60_001):
            file.write(f"line {number} of an ordinary log with some words to make it long\n")
        file.write("[rank3]: MemoryError\n")
    assert diagnose(read_bundle(path)).evidence[0].source == "big.log:60001"


@pytest.mark.parametrize("text", ["[1, 2]", "{}", '{"slurm.log": 3}', '{"..": "x", "": "x", "a\\u0000.log": "x"}'])
def test_a_bundle_json_of_somebody_else(tmp_path: Path, text: str) -> None:
    """A file of that name which is no packed bundle hides nothing that lies beside it."""
    (tmp_path / "bundle.json").write_text(text)
    (tmp_path / "slurm.log").write_text(_OOM)
    assert diagnose(read_bundle(tmp_path)).cause == "host_oom"


def test_a_folder_that_leads_outside_is_left_out(tmp_path: Path) -> None:
    """A part is not read through a linked folder either."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "n1.json").write_text('{"device_count": 7, "expected_device_count": 8}')
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "nvml").symlink_to(tmp_path / "other")
    (folder / "slurm.log").write_text(_OOM)
    bundle = read_bundle(folder)
    assert not bundle.nvml
    assert bundle.unread == ("nvml/n1.json leads out of the folder",)
