"""`events.jsonl`: everything that happened to a run, one event per line, the source of truth."""

import os
from pathlib import Path
from typing import Final

import msgspec

from supervisor.core.events import Event
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode

FILE: Final = "events.jsonl"
_decoder: Final = msgspec.json.Decoder(Event)


class EventLog:
    """Appends events through the writer's thread; a write is on disk once `flushed` says so."""

    def __init__(self, path: Path, writer: Writer) -> None:
        self._path = path
        self._writer = writer

    def append(self, event: Event) -> None:
        """Keep the event; never blocks. A full disk is counted by the writer."""
        line = encode(event) + b"\n"
        self._writer.do(lambda: _append(self._path, line))

    async def flushed(self, deadline_s: float) -> bool:
        """Whether everything appended is on disk."""
        self._writer.do(lambda: _sync(self._path))
        return await self._writer.flushed(deadline_s)


def read_events(path: Path) -> list[Event]:
    """The events of a run, oldest first; a torn or unknown line is left out. No file: no events."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    events = []
    for line in lines:
        try:
            events.append(_decoder.decode(line))
        except msgspec.MsgspecError:
            continue  # the line that a killed supervisor was writing, or an event of a newer version
    return events


def _append(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # A line torn by a full disk or a kill must not swallow this one.
        if os.fstat(descriptor).st_size and not _ends_with_newline(path):
            line = b"\n" + line
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
