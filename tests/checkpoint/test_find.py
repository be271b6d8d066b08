"""Which checkpoint a run resumes from."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.checkpoint.find import check_again, find_newest
from tests.checkpoint import makers as make

Maker = Callable[[Path], Path]

_MAKERS: dict[str, tuple[Maker, str]] = {
    "step-000120.npz": (make.npz, "file"),
    "checkpoint-120.pt": (make.torch_zip, "torch"),
    "step=120.safetensors": (make.safetensors, "safetensors"),
    "step-120": (make.dcp, "dcp"),
    "global_step120": (make.folder, "folder"),
}


def _step(folder: Path) -> int | None:
    chosen = find_newest(str(folder), deadline_s=30).chosen
    return chosen.step if chosen else None


@pytest.mark.parametrize("name", _MAKERS)
def test_each_kind_is_found_whole(tmp_path: Path, name: str) -> None:
    """A whole checkpoint of each kind is chosen, with its path, step and kind."""
    maker, kind = _MAKERS[name]
    maker(tmp_path / name)
    choice = find_newest(str(tmp_path), deadline_s=30)
    assert choice.chosen is not None
    assert (choice.chosen.path, choice.chosen.step, choice.chosen.kind) == (str(tmp_path / name), 120, kind)
    assert choice.chosen.size_bytes > 0


def test_steps_are_compared_as_numbers(tmp_path: Path) -> None:
    """Step 1000 is newer than step 999, whatever their names' order."""
    make.npz(tmp_path / "step-999.npz")
    make.npz(tmp_path / "step-1000.npz")
    assert _step(tmp_path) == 1000


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("name", ["step-%d.npz", "step-%d.pt", "step-%d.safetensors"])
def test_a_cut_file_is_passed_over(tmp_path: Path, name: str, share: float) -> None:
    """A newest file that ends too early is passed over for the one before it, and told."""
    maker = {"npz": make.npz, "pt": make.torch_zip, "safetensors": make.safetensors}[name.rpartition(".")[2]]
    maker(tmp_path / (name % 100))
    make.cut(maker(tmp_path / (name % 110)), share)
    choice = find_newest(str(tmp_path), deadline_s=30)
    assert choice.chosen is not None
    assert choice.chosen.step == 100
    assert [(one.step, one.verdict in {"incomplete", "corrupt"}) for one in choice.passed_over] == [(110, True)]
    assert choice.is_trustworthy


def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    """A small archive's checksums are verified: a changed byte makes it corrupt."""
    make.npz(tmp_path / "step-1.npz")
    bad = make.npz(tmp_path / "step-2.npz")
    data = bytearray(bad.read_bytes())
    data[len(data) // 2] ^= 1
    make.aged_bytes(bad, bytes(data))
    choice = find_newest(str(tmp_path), deadline_s=30)
    assert choice.chosen is not None
    assert choice.chosen.step == 1
    assert choice.passed_over[0].verdict == "corrupt"


@pytest.mark.parametrize("damage", ["no_metadata", "empty_metadata", "cut_metadata", "missing_file", "empty_file"])
def test_a_dcp_folder_needs_all_its_files(tmp_path: Path, damage: str) -> None:
    """Without `.metadata`, or without a file that it names, a distributed checkpoint is not whole."""
    make.dcp(tmp_path / "step-1")
    newest = make.dcp(tmp_path / "step-2")
    metadata = newest / ".metadata"
    match damage:
        case "no_metadata":
            metadata.unlink()
        case "empty_metadata":
            make.aged_bytes(metadata, b"")
        case "cut_metadata":
            make.cut(metadata)
        case "missing_file":
            (newest / "__1_0.distcp").unlink()
        case "empty_file":
            make.aged_bytes(newest / "__1_0.distcp", b"")
    assert _step(tmp_path) == 1


def test_an_index_needs_all_its_shards(tmp_path: Path) -> None:
    """A folder whose index names a shard that is not there is passed over."""
    for step in (1, 2):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        for shard in range(1, 4 - step):
            make.safetensors(folder / f"model-{shard}.safetensors")
        index = b'{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
        make.aged_bytes(folder / "model.safetensors.index.json", index)
    assert _step(tmp_path) == 1


def test_names_of_unfinished_ones_are_believed(tmp_path: Path) -> None:
    """`.tmp` is passed over even where its bytes look whole."""
    make.npz(tmp_path / "step-1.npz")
    make.npz(tmp_path / "step-2.npz").rename(tmp_path / "step-2.npz.tmp")
    choice = find_newest(str(tmp_path), deadline_s=30)
    assert choice.chosen is not None
    assert choice.chosen.step == 1
    assert choice.passed_over[0].verdict == "being_written"


def test_a_fresh_file_without_an_end_is_not_trusted(tmp_path: Path) -> None:
    """Where the format shows no end, one that changed a moment ago may be half-written."""
    make.aged_bytes(tmp_path / "step-1.bin", bytes(100))
    (tmp_path / "step-2.bin").write_bytes(bytes(100))
    assert _step(tmp_path) == 1


def test_a_fresh_file_with_an_end_is_trusted(tmp_path: Path) -> None:
    """An archive with its end record is whole, however new."""
    make.aged(make.npz(tmp_path / "step-2.npz"), 0)
    assert _step(tmp_path) == 2


def test_a_folder_with_fewer_files_than_before_is_passed_over(tmp_path: Path) -> None:
    """A folder of an unknown format is compared with the one before: fewer files, and it is not whole."""
    make.folder(tmp_path / "step-1", files=4)
    make.folder(tmp_path / "step-2", files=3)
    assert _step(tmp_path) == 1


def test_a_file_much_smaller_than_before_is_passed_over(tmp_path: Path) -> None:
    """The same for less than half the bytes."""
    make.aged_bytes(tmp_path / "step-1.bin", bytes(1000))
    make.aged_bytes(tmp_path / "step-2.bin", bytes(499))
    assert _step(tmp_path) == 1


def test_the_only_one_of_an_unknown_format_is_taken(tmp_path: Path) -> None:
    """With nothing to compare, a stable non-empty file is whole."""
    make.aged_bytes(tmp_path / "step-1.bin", bytes(10))
    assert _step(tmp_path) == 1


def test_descriptions_beside_a_checkpoint_are_none(tmp_path: Path) -> None:
    """A newer `.json` that is named by a step is no checkpoint."""
    make.npz(tmp_path / "step-1.npz")
    make.aged_bytes(tmp_path / "step-2.json", b"{}")
    assert _step(tmp_path) == 1


def test_one_file_per_rank_must_all_be_whole(tmp_path: Path) -> None:
    """Files of one step belong together: one cut, and the step is passed over."""
    for rank in range(2):
        make.npz(tmp_path / f"step-1-rank{rank}.npz")
        make.npz(tmp_path / f"step-2-rank{rank}.npz")
    make.cut(tmp_path / "step-2-rank1.npz")
    assert _step(tmp_path) == 1


def test_nothing_yet_is_none(tmp_path: Path) -> None:
    """An empty or missing folder is "none" for a run that never saved there."""
    for folder in (tmp_path, tmp_path / "missing"):
        choice = find_newest(str(folder), deadline_s=30)
        assert choice.chosen is None
        assert choice.is_trustworthy


def test_nothing_after_something_is_not_believed(tmp_path: Path) -> None:
    """An empty or missing folder is not "none" for a run that is known to have saved there."""
    for folder in (tmp_path, tmp_path / "missing"):
        choice = find_newest(str(folder), deadline_s=30, known_step=40)
        assert choice.chosen is None
        assert not choice.is_trustworthy
        assert "step 40" in choice.why


def test_all_broken_is_told(tmp_path: Path) -> None:
    """Checkpoints that are all broken leave none, and the reason."""
    make.cut(make.npz(tmp_path / "step-1.npz"))
    choice = find_newest(str(tmp_path), deadline_s=30)
    assert choice.chosen is None
    assert "none of 1" in choice.why


def test_time_that_is_over_is_not_none(tmp_path: Path) -> None:
    """A deadline that has passed gives no trustworthy answer."""
    make.npz(tmp_path / "step-1.npz")
    choice = find_newest(str(tmp_path), deadline_s=-1)
    assert choice.chosen is None
    assert not choice.is_trustworthy
    assert "no answer" in choice.why


def test_a_file_in_the_folders_place_is_not_none(tmp_path: Path) -> None:
    """A path that is no folder is an error of the settings, not an absence."""
    path = make.npz(tmp_path / "step-1.npz")
    assert not find_newest(str(path), deadline_s=30).is_trustworthy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_we_may_not_read_is_not_none(tmp_path: Path) -> None:
    """Missing rights are no absence."""
    make.npz(tmp_path / "step-1.npz")
    tmp_path.chmod(0)
    try:
        assert not find_newest(str(tmp_path), deadline_s=30).is_trustworthy
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_nothing_is_written_or_unpickled(tmp_path: Path) -> None:
    """Looking changes no name, size or time, and runs nothing that a checkpoint holds."""
    trap = Path("/tmp/unpickled")
    trap.unlink(missing_ok=True)
    make.torch_zip(tmp_path / "step-1.pt")
    make.cut(make.torch_zip(tmp_path / "step-2.pt"))
    make.dcp(tmp_path / "step-0")
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    assert _step(tmp_path) == 1
    after = {path: path.stat() for path in tmp_path.rglob("*")}
    assert {path: (one.st_size, one.st_mtime_ns) for path, one in before.items()} == {
        path: (one.st_size, one.st_mtime_ns) for path, one in after.items()
    }
    assert not trap.exists()


def test_check_again_sees_what_happened_since(tmp_path: Path) -> None:
    """Right before the launch a checkpoint is looked at once more: whole, cut, gone."""
    path = make.npz(tmp_path / "step-1.npz")
    chosen = find_newest(str(tmp_path), deadline_s=30).chosen
    assert chosen is not None
    assert check_again(chosen, deadline_s=30).verdict == "whole"
    make.cut(path)
    assert check_again(chosen, deadline_s=30).verdict == "incomplete"
    path.unlink()
    assert check_again(chosen, deadline_s=30).verdict == "gone"
    assert check_again(chosen, deadline_s=-1).verdict == "gone"
