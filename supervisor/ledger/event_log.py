"""`events.jsonl`: everything that happened to a run, one event per line, the source of truth."""

import errno
import logging
import os
from pathlib import Path
from typing import Any, Final

import msgspec

from supervisor.core.events import Event
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode

_log = logging.getLogger(__name__)

FILE: Final = "events.jsonl"
_decoder: Final = msgspec.json.Decoder(Event)


class EventLog:
    """Appends events through the writer's thread; one process at a time may append to a file."""

    def __init__(self, path: Path, writer: Writer) -> None:
        self._path = path
        self._writer = writer
        self.lost = 0
        """Events that the filesystem refused."""

    def append(self, event: Event) -> None:
        """Keep the event; never blocks and never raises. What a full disk refuses is counted and told by the writer."""
        self._writer.do(lambda: self._keep(_line(event)))

    async def flushed(self, deadline_s: float) -> bool:
        """Whether everything appended since the last call is on disk."""
        lost = self.lost
        self._writer.do(lambda: _sync(self._path))
        return await self._writer.flushed(deadline_s) and self.lost == lost

    def _keep(self, line: bytes) -> None:
        try:
            _append(self._path, line)
        except OSError:
            self.lost += 1
            raise


def read_events(path: Path) -> list[Event]:
    """The events of a run, oldest first; no file: no events. Raises `OSError` where it is there but cannot be read.

    The line that a killed supervisor was writing is left out, and so are events of a newer version: they are counted
    in the log.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    events, skipped = [], 0
    for line in filter(None, lines):
        try:
            events.append(_decoder.decode(line))
        except msgspec.MsgspecError:
            skipped += 1
    if skipped:
        _log.warning("events.skipped count=%d of=%d path=%s", skipped, skipped + len(events), path)
    return events


def _line(event: Event) -> bytes:
    try:
        return encode(event) + b"\n"
    except UnicodeEncodeError:  # a path whose name is no UTF-8: better an event with a hole than none
        return msgspec.json.encode(_readable(msgspec.to_builtins(event))) + b"\n"


def _readable(value: Any) -> Any:
    """Built-in types with every text in UTF-8."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_readable(name): _readable(item) for name, item in value.items()}
        case list():
            return [_readable(item) for item in value]
    return value


def _append(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        # A line torn by a full disk or a kill must not swallow this one.
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # nothing was appended yet, or the append was refused and told
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
