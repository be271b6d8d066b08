"""Incident records of run folders that may not be one's own: no link is followed, no pipe waited for."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from supervisor.ledger.records import COMPACTED, FOLDER, VERDICT
from supervisor.model.records import IncidentRecord

_LARGEST: Final = 4 << 20
_MOST: Final = 10_000
"""Incidents of one run."""
_SAFE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def careful_records(run_folder: Path) -> list[IncidentRecord]:
    """All that can be read without leaving the folder; of two with the same number the folder's own."""
    found: dict[int, IncidentRecord] = {}
    with suppress(OSError):
        folder = os.open(run_folder, _SAFE | os.O_DIRECTORY)
        try:
            for line in _all(folder):
                with suppress(msgspec.MsgspecError):
                    record = msgspec.json.decode(line, type=IncidentRecord)
                    found[record.incident] = record
        finally:
            os.close(folder)
    return [found[number] for number in sorted(found)]


def _all(folder: int) -> Iterator[bytes]:
    """The packed ones first: what has a folder of its own is newer."""
    yield from _content(COMPACTED, folder).splitlines()
    with suppress(OSError):
        incidents = os.open(FOLDER, _SAFE | os.O_DIRECTORY, dir_fd=folder)
        try:
            for name in sorted(os.listdir(incidents))[:_MOST]:  # noqa: PTH208  # no path leads to a descriptor
                yield _verdict(name, incidents)
        finally:
            os.close(incidents)


def _verdict(name: str, incidents: int) -> bytes:
    try:
        place = os.open(name, _SAFE | os.O_DIRECTORY, dir_fd=incidents)
    except OSError:
        return b""
    try:
        return _content(VERDICT, place)
    finally:
        os.close(place)


def _content(name: str, folder: int) -> bytes:
    """Of an ordinary file that is not too large; else nothing."""
    try:
        opened = os.open(name, _SAFE, dir_fd=folder)
    except OSError:
        return b""
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return b""
        content = file.read(_LARGEST + 1)
    return content if len(content) <= _LARGEST else b""
