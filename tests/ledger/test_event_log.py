"""The event log: the source of truth, on filesystems that fill up and under supervisors that die."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.core.events import AttemptEnded, AttemptStarted, CheckpointChosen, Event, SignalReceived
from supervisor.core.snapshot import Snapshot
from supervisor.core.state import Stage, State
from supervisor.errors import PayloadRefused
from supervisor.ledger.event_log import FILE, EventLog, last_at, read_events
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.facts import Checkpoint, Choice
from supervisor.model.ids import AttemptNo, NodeName

_EVENTS: list[Event] = [
    AttemptStarted(at=1.0, attempt=AttemptNo(1), pid=7),
    SignalReceived(at=2.0, number=15, whole_step=True),
    AttemptEnded(at=3.0, attempt=AttemptNo(1), signal=15),
]


@pytest.fixture
def writer() -> Iterator[Writer]:
    """A writer that ends with the test."""
    made = Writer()
    yield made
    made.close(30)


async def _keep(log: EventLog, events: list[Event]) -> bool:
    for event in events:
        log.append(event)
    return await log.flushed(30)


async def test_what_was_appended_is_read_again(writer: Writer, tmp_path: Path) -> None:
    """In order, also after another supervisor goes on with the file."""
    assert await _keep(EventLog(tmp_path / FILE, writer), _EVENTS[:2])
    assert await _keep(EventLog(tmp_path / FILE, writer), _EVENTS[2:])
    assert read_events(tmp_path / FILE) == _EVENTS


def test_no_file_is_no_history(tmp_path: Path) -> None:
    """The first supervisor of a run finds none."""
    assert read_events(tmp_path / FILE) == []


def test_a_file_that_cannot_be_read_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    """Without its history a supervisor must not decide."""
    with pytest.raises(OSError, match="directory"):
        read_events(tmp_path)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    """The supervisor was killed while it wrote."""
    whole = b"\n".join(encode(event) for event in _EVENTS)
    (tmp_path / FILE).write_bytes(whole[:-9])
    assert read_events(tmp_path / FILE) == _EVENTS[:2]


async def test_a_torn_line_does_not_swallow_the_next_one(writer: Writer, tmp_path: Path) -> None:
    """What comes after it stands on a line of its own."""
    (tmp_path / FILE).write_bytes(encode(_EVENTS[0]) + b'\n{"type":"signal_rec')
    assert await _keep(EventLog(tmp_path / FILE, writer), [_EVENTS[2]])
    assert read_events(tmp_path / FILE) == [_EVENTS[0], _EVENTS[2]]


@pytest.mark.parametrize("bad", [b"nonsense", b'{"type":"of_a_newer_version","at":1}', b"\xff\xfe", b"\0\0\0"])
def test_a_bad_line_is_skipped_and_counted(tmp_path: Path, bad: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The rest of the history counts."""
    first, *rest = [encode(event) for event in _EVENTS]
    (tmp_path / FILE).write_bytes(b"\n".join([first, bad, *rest, b""]))
    with caplog.at_level(logging.WARNING):
        assert read_events(tmp_path / FILE) == _EVENTS
    assert "count=1 of=4" in caplog.text


async def test_an_unwritable_log_costs_the_log_and_nothing_else(writer: Writer, tmp_path: Path) -> None:
    """It is counted, `flushed` says so, and what can be written later is written."""
    log = EventLog(tmp_path / "later" / FILE, writer)
    assert not await _keep(log, _EVENTS[:2])
    assert (log.lost, writer.failed) == (2, 2)
    (tmp_path / "later").mkdir()
    assert await _keep(log, _EVENTS[2:])
    assert read_events(tmp_path / "later" / FILE) == _EVENTS[2:]


async def test_a_full_disk_is_no_event(writer: Writer) -> None:
    """/dev/full takes nothing."""
    log = EventLog(Path("/dev/full"), writer)
    assert not await _keep(log, _EVENTS[:1])
    assert log.lost == 1


async def test_nothing_to_flush_is_no_failure(writer: Writer, tmp_path: Path) -> None:
    """A decision may come before the first event that is kept."""
    assert await EventLog(tmp_path / FILE, writer).flushed(30)
    assert writer.failed == 0


async def test_a_name_that_is_no_utf_8_does_not_lose_the_event(writer: Writer, tmp_path: Path) -> None:
    """Checkpoint folders may be named in any bytes."""
    chosen = Checkpoint(path="/ck/caf\udce9/5", step=5, kind="dcp", verdict="whole")
    event = CheckpointChosen(at=1.0, attempt=AttemptNo(2), choice=Choice(chosen=chosen))
    assert await _keep(EventLog(tmp_path / FILE, writer), [event])
    (kept,) = read_events(tmp_path / FILE)
    assert isinstance(kept, CheckpointChosen)
    assert kept.choice.chosen is not None
    assert (kept.choice.chosen.path, kept.choice.chosen.step) == ("/ck/caf?/5", 5)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _is_long(log: EventLog) -> bool:
    return log.is_long  # asked anew each time


def _snapshot(at: float = 9.0) -> Snapshot:
    return Snapshot(at=at, restarts=1, state=State(stage=Stage.RUNNING, nodes=(NodeName("n1"),)))


async def test_a_log_beyond_its_limit_begins_anew(writer: Writer, tmp_path: Path) -> None:
    """With a snapshot and what comes after it; the part before stays beside it, and is replaced by the next one."""
    log = EventLog(tmp_path / FILE, writer, limit_bytes=100)
    assert await _keep(log, _EVENTS)
    assert _is_long(log)
    log.begin_anew(_snapshot())
    assert not _is_long(log)  # under way: not ordered twice
    assert await _keep(log, _EVENTS[1:2])
    assert read_events(tmp_path / FILE) == [_snapshot(), _EVENTS[1]]
    assert read_events(tmp_path / f"{FILE}.1") == _EVENTS
    assert not _is_long(log)  # the limit counts what came after the snapshot
    log.begin_anew(_snapshot(10.0))
    assert await _keep(log, [])
    assert read_events(tmp_path / f"{FILE}.1") == [_snapshot(), _EVENTS[1]]
    assert _names(tmp_path) == [FILE, f"{FILE}.1"]


async def test_a_log_that_was_long_before_begins_anew_too(writer: Writer, tmp_path: Path) -> None:
    """Its size counts, not what this supervisor has added."""
    (tmp_path / FILE).write_bytes(b"x" * 200 + b"\n")
    log = EventLog(tmp_path / FILE, writer, limit_bytes=100)
    assert await _keep(log, _EVENTS[:1])
    assert log.is_long


async def test_without_links_the_older_part_is_lost_and_the_log_goes_on(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some filesystems have none."""
    monkeypatch.setattr(os, "link", _refuses)
    log = EventLog(tmp_path / FILE, writer, limit_bytes=100)
    await _keep(log, _EVENTS)
    log.begin_anew(_snapshot())
    assert await _keep(log, [])
    assert read_events(tmp_path / FILE) == [_snapshot()]
    assert _names(tmp_path) == [FILE]


async def test_a_log_that_cannot_begin_anew_goes_on(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk costs nothing that was there; it is tried again when the log has grown by its limit once more."""
    log = EventLog(tmp_path / FILE, writer, limit_bytes=100)
    await _keep(log, _EVENTS)
    monkeypatch.setattr("supervisor.ledger.event_log.replace_file", _refuses)
    log.begin_anew(_snapshot())
    await log.flushed(30)
    assert writer.failed == 1
    assert await _keep(log, _EVENTS[:1])
    assert read_events(tmp_path / FILE) == [*_EVENTS, _EVENTS[0]]
    assert await _keep(log, _EVENTS)
    assert log.is_long


def test_a_snapshot_of_another_version_is_not_passed_over(tmp_path: Path) -> None:
    """Unlike a single event: what follows means nothing without it."""
    (tmp_path / FILE).write_bytes(b'{"type":"snapshot","at":1,"restarts":0,"state":7}\n' + encode(_EVENTS[0]))
    with pytest.raises(PayloadRefused, match="snapshot that this version cannot read"):
        read_events(tmp_path / FILE)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (b"", 0.0),
        (encode(_EVENTS[0]) + b"\n" + encode(_EVENTS[2]) + b"\n", 3.0),
        (encode(_EVENTS[0]) + b"\n" + encode(_EVENTS[2])[:30], 1.0),
        (b"\xff" * 5000 + b"\n" + encode(_EVENTS[1]) + b"\n\n", 2.0),
        (encode(_snapshot(5.0)), 5.0),
    ],
)
def test_the_newest_moment_of_a_log_is_found_at_its_end(tmp_path: Path, text: bytes, at: float) -> None:
    """Whatever stands before it, and though the last line is torn."""
    assert last_at(tmp_path / FILE) == 0.0
    (tmp_path / FILE).write_bytes(text)
    assert last_at(tmp_path / FILE) == at


def _refuses(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")
