"""A log that others write, kept within its size."""

import os
from pathlib import Path

import pytest

from supervisor.ledger.begin_anew import cut


def _appending(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def test_a_small_file_is_left_alone(tmp_path: Path) -> None:
    """So is one that is not there."""
    assert not cut(tmp_path / "agent.log", limit_bytes=10)
    (tmp_path / "agent.log").write_bytes(b"0123456789")
    assert not cut(tmp_path / "agent.log", limit_bytes=10)
    assert [path.name for path in tmp_path.iterdir()] == ["agent.log"]


def test_a_writer_goes_on_in_the_file_that_was_emptied(tmp_path: Path) -> None:
    """An srun holds the log open for days: it cannot be given another file. The new part says where the old one is."""
    path = tmp_path / "agent.log"
    writer = _appending(path)
    try:
        for text in ("first ", "second "):
            os.write(writer, f"{text}{'x' * 100}end".encode())
            assert cut(path, limit_bytes=50)
            os.write(writer, b"later\n")
            assert (tmp_path / "agent.log.1").read_bytes() == b"x" * 47 + b"end"
            told, last = path.read_text().splitlines()
            assert "see agent.log.1" in told
            assert last == "later"
    finally:
        os.close(writer)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["agent.log", "agent.log.1"]


def test_nothing_is_lost_where_the_older_part_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: the file stays as it is."""
    path = tmp_path / "agent.log"
    path.write_bytes(b"x" * 100)
    monkeypatch.setattr("supervisor.ledger.begin_anew.replace_file", _refuses)
    with pytest.raises(OSError, match="space"):
        cut(path, limit_bytes=50)
    assert path.read_bytes() == b"x" * 100


def _refuses(*_: object) -> None:
    raise OSError(28, "No space left on device")
