"""`events.jsonl`: everything that happened to a run, one event per line, the source of truth; bounded in size."""

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.errors import PayloadRefused
from supervisor.ledger.whole_file import replace_file
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode_readable

_log = logging.getLogger(__name__)

FILE: Final = "events.jsonl"
LIMIT_BYTES: Final = 5_000_000
"""Months of a quiet run, or a day of one whose agents come and go. The part before is kept as `events.jsonl.1`."""
_SNAPSHOT: Final = b'{"type":"snapshot"'
_LAST_BYTES: Final = 1_000_000
_decoder: Final[msgspec.json.Decoder[Recorded]] = msgspec.json.Decoder(Recorded)


class _Stamped(msgspec.Struct):
    """What all events have."""

    at: float


class EventLog:
    """Appends events through the writer's thread; one process at a time may append to a file."""

    def __init__(self, path: Path, writer: Writer, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._writer = writer
        self._step_bytes = self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._is_renewing = False
        self.lost = 0
        """Events that the filesystem refused."""

    @property
    def is_long(self) -> bool:
        """The log should begin anew, from a snapshot of the state that all its events have led to."""
        return self._size_bytes > self._limit_bytes and not self._is_renewing

    def begin_anew(self, snapshot: Snapshot) -> None:
        """Let the log hold this and what is appended from now on; never blocks and never raises.

        At each moment there is a whole log: where the new one cannot be written, the old one goes on.
        """
        self._is_renewing = True
        if not self._writer.do(lambda: self._renew(_line(snapshot))):
            self._is_renewing = False

    def append(self, event: Recorded) -> None:
        """Keep the event; never blocks and never raises. What a full disk refuses is counted and told by the writer."""
        self._writer.do(lambda: self._keep(_line(event)))

    async def flushed(self, deadline_s: float) -> bool:
        """Whether everything appended since the last call is on disk."""
        lost = self.lost
        self._writer.do(lambda: _sync(self._path))
        return await self._writer.flushed(deadline_s) and self.lost == lost

    def _keep(self, line: bytes) -> None:
        try:
            self._size_bytes = _append(self._path, line)
        except OSError:
            self.lost += 1
            raise

    def _renew(self, line: bytes) -> None:
        try:
            _keep_older(self._path)
            replace_file(self._path, line)
            self._size_bytes = len(line)
            # A state that fills the log by itself must not be written again at each event.
            self._limit_bytes = self._step_bytes + len(line)
            _log.info("events.begun_anew path=%s snapshot_bytes=%d", self._path, len(line))
        except OSError:
            self._limit_bytes += self._step_bytes
            raise
        finally:
            self._is_renewing = False


def read_events(path: Path) -> list[Recorded]:
    """The events of a run, oldest first; no file: no events.

    The line that a killed supervisor was writing is left out, and so are events of a newer version: they are counted
    in the log. Raises `OSError` where the file is there but cannot be read, `PayloadRefused` where it begins with a
    snapshot of another version: without it the events behind it mean nothing.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    events, skipped = [], 0
    for line in filter(None, lines):
        try:
            events.append(_decoder.decode(line))
        except msgspec.MsgspecError as exc:
            if line.startswith(_SNAPSHOT):
                raise PayloadRefused(f"{path} begins with a snapshot that this version cannot read: {exc}") from exc
            skipped += 1
    if skipped:
        _log.warning("events.skipped count=%d of=%d path=%s", skipped, skipped + len(events), path)
    return events


def last_at(path: Path) -> float:
    """When the newest event of the log happened, by the clock that it was written by; 0: none is known."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return 0.0
    for line in reversed(lines):
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(line, type=_Stamped).at
    return 0.0


def _line(event: Recorded) -> bytes:
    return encode_readable(event) + b"\n"


def _append(path: Path, line: bytes) -> int:
    """Size of the file after that, in bytes."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        # A line torn by a full disk or a kill must not swallow this one.
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return size + len(line)
    finally:
        os.close(descriptor)


def _keep_older(path: Path) -> None:
    """A second name for the file, in place of an older part. Where there are no links, the older part is lost."""
    link = path.with_name(f".{path.name}.1.{os.getpid()}")
    link.unlink(missing_ok=True)
    try:
        os.link(path, link)
    except OSError as exc:
        _log.warning("events.older_part_lost path=%s reason=%s", path, exc)
        return
    link.replace(path.with_name(f"{path.name}.1"))


def _sync(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # nothing was appended yet, or the append was refused and told
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
