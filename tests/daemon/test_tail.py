"""Following a file that grows."""

from pathlib import Path

from supervisor.daemon.tail import Tail


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    """Each read continues where the last one ended."""
    path = tmp_path / "out"
    path.write_bytes(b"one\n")
    tail = Tail(path)
    assert tail.read() == b"one\n"
    with path.open("ab") as file:
        file.write(b"two\n")
    assert tail.read() == b"two\n"
    assert tail.read() == b""


def test_a_truncated_file_is_read_from_its_start(tmp_path: Path) -> None:
    """A job that starts its log anew is not missed."""
    path = tmp_path / "out"
    path.write_bytes(b"a long first line\n")
    tail = Tail(path)
    tail.read()
    path.write_bytes(b"new\n")
    assert tail.read() == b"new\n"


def test_a_missing_file_is_silence(tmp_path: Path) -> None:
    """Absence is no error: the file may come later."""
    assert Tail(tmp_path / "none").read() == b""
