"""The one way small files are written."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.ledger import writer as module
from supervisor.ledger.whole_file import replace_file
from supervisor.ledger.writer import Writer


def _hang(release: threading.Event) -> None:
    release.wait(60)


@pytest.fixture
def writer() -> Iterator[Writer]:
    """A writer that ends with the test."""
    made = Writer()
    yield made
    made.close(30)
    assert not made._thread.is_alive()


async def test_what_was_given_is_there_once_it_is_flushed(writer: Writer, tmp_path: Path) -> None:
    """In order; folders are made, and nobody else may read."""
    path = tmp_path / "a/b/status.json"
    writer.write(path, b"one")
    writer.write(path, b"two")
    assert await writer.flushed(30)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["status.json"]


async def test_a_hanging_filesystem_holds_nobody_up(writer: Writer) -> None:
    """The caller goes on; `flushed` says within its deadline that nothing is known."""
    release = threading.Event()
    writer.do(lambda: _hang(release))
    assert not await writer.flushed(0.05)
    release.set()
    assert await writer.flushed(30)


async def test_a_deed_that_breaks_costs_only_itself(writer: Writer, tmp_path: Path) -> None:
    """Whatever is wrong with one: without the thread no later event would ever be on record."""

    def breaks() -> None:
        (tmp_path / "x").write_text("\udce9")

    writer.do(breaks)
    writer.write(tmp_path / "good", b"x")
    assert await writer.flushed(5)
    assert writer.failed == 1
    assert (tmp_path / "good").exists()


async def test_a_refused_write_is_counted_and_said_once(
    writer: Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next one is tried all the same."""
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            writer.write(tmp_path / "file/in/a/file", b"x")
        writer.write(tmp_path / "good", b"x")
        assert await writer.flushed(30)
    assert writer.failed == 3
    assert (tmp_path / "good").exists()
    assert len(caplog.records) == 1


async def test_too_much_that_waits_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded while a filesystem gives no answer; what found room is carried out once it gives one."""
    monkeypatch.setattr(module, "_WAITING", 2)
    small, release, done = Writer(), threading.Event(), []
    small.do(lambda: _hang(release))
    found_room = [small.do(lambda: done.append(1)) for _ in range(10)].count(True)
    assert small.failed == 10 - found_room >= 7
    assert not await small.flushed(30)  # at once: there is no room for the question either
    release.set()
    small.close(30)
    assert not small._thread.is_alive()
    assert len(done) == found_room


def test_a_failed_replacement_leaves_the_old_content(tmp_path: Path) -> None:
    """And no half-written file beside it."""
    path = tmp_path / "status.json"
    path.mkdir()
    (path / "old").touch()
    with pytest.raises(OSError, match=r"status\.json"):
        replace_file(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["status.json"]
