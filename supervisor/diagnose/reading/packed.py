"""A bundle in one file, `bundle.json`: what becomes of an older incident's folder, since a run folder has few files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from supervisor.diagnose.bundle import Bundle, Log
from supervisor.diagnose.reading.files import read_json

FILE: Final = "bundle.json"
"""An object: name of each part and its text (`ledger/packing.py` writes it)."""


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """A folder with its parts, as long as it is needed. Raises `PayloadRefused` for a file of another shape."""
    parts = read_json(file, dict[str, str]) or {}
    with TemporaryDirectory(prefix="supervise-") as name:
        for part, text in parts.items():
            if Path(part).name == part:  # never a place outside
                Path(name, part).write_bytes(text.encode(errors="replace"))
        yield Path(name)


def held(bundle: Bundle) -> Bundle:
    """The same with its logs in memory: their files will be gone."""
    return replace(bundle, logs=tuple(_held(log) for log in bundle.logs))


def _held(log: Log) -> Log:
    data = b"".join(log.data())
    return replace(log, lines=(), pieces=lambda: iter([data]))
