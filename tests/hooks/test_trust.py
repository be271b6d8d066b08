"""What may be read, run and written as root."""

import os
from pathlib import Path

import pytest

from supervisor.hooks import trust

_ME = os.geteuid()
_STRANGER = 4242
_needs_root = pytest.mark.skipif(_ME != 0, reason="only root can give a file away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path


def _complaint(path: Path) -> str:
    return trust.complaint(str(path), owner=_ME)


def test_a_file_that_only_its_owner_writes_is_trusted(folder: Path) -> None:
    """In a folder that only its owner writes, below a sticky one as /tmp is."""
    (folder / "file").touch(0o644)
    assert _complaint(folder / "file") == ""


@pytest.mark.parametrize("mode", [0o666, 0o602, 0o646])
def test_a_file_that_others_write_is_not(folder: Path, mode: int) -> None:
    """Whatever else it allows."""
    (folder / "file").touch()
    (folder / "file").chmod(mode)
    assert "can be written by others" in _complaint(folder / "file")


@_needs_root
def test_a_group_that_is_not_roots_must_not_write(folder: Path) -> None:
    """Nobody knows who is in it."""
    (folder / "file").touch()
    os.chown(folder / "file", 0, _STRANGER)
    (folder / "file").chmod(0o664)
    assert "can be written by others" in _complaint(folder / "file")


@_needs_root
def test_another_owner_is_told(folder: Path) -> None:
    """Of the file, or of a folder on the way to it."""
    (folder / "his").mkdir()
    (folder / "his" / "file").touch(0o644)
    os.chown(folder / "his", _STRANGER, 0)
    assert f"belongs to uid {_STRANGER}" in _complaint(folder / "his" / "file")


def test_a_folder_on_the_way_that_others_write_is_enough(folder: Path) -> None:
    """They could put another file in its place."""
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    (folder / "open" / "file").touch(0o644)
    assert "can be written by others" in _complaint(folder / "open" / "file")


def test_a_sticky_folder_is_a_way_and_no_place(folder: Path) -> None:
    """What lies in it cannot be replaced by others, but they can put files beside it."""
    (folder / "sticky").mkdir()
    (folder / "sticky").chmod(0o1777)
    (folder / "sticky" / "file").touch(0o644)
    assert _complaint(folder / "sticky" / "file") == ""
    assert "can be written by others" in _complaint(folder / "sticky")


def test_a_link_is_as_good_as_what_it_leads_to(folder: Path) -> None:
    """Every folder on both ways counts, `..` too."""
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    (folder / "open" / "file").touch(0o644)
    (folder / "good").touch(0o644)
    (folder / "a").symlink_to("open/file")
    (folder / "b").symlink_to("./good")
    (folder / "open" / "c").symlink_to("../good")
    assert _complaint(folder / "a")
    assert _complaint(folder / "b") == ""
    assert _complaint(folder / "open" / "c")


def test_links_in_a_circle_end(folder: Path) -> None:
    """With a complaint."""
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    assert "too many links" in _complaint(folder / "a")


def test_what_is_not_there_is_not_trusted(folder: Path) -> None:
    """Nor is a path that begins somewhere else."""
    assert "No such file" in _complaint(folder / "none")
    assert "not an absolute path" in trust.complaint("etc/passwd")


def test_the_interpreter_and_all_loaded_code_are_looked_at() -> None:
    """Of this very process."""
    own = trust.own_files()
    assert trust.__file__ in own
    assert any("python" in path for path in own)


def test_code_that_is_not_loaded_yet_is_looked_at_as_well() -> None:
    """The rest of this product, the reader of GPUs, and what Python obeys at its start."""
    names = {Path(path).name for path in trust.own_files()}
    assert {"drain.py", "pynvml.py"} <= names
    assert any(name.endswith(".pth") for name in names)
    assert any(name.endswith(".pyc") for name in names)
