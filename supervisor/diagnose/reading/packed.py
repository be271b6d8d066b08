"""A bundle in one file, `bundle.json`: what becomes of an older incident's folder, since a run folder has few files."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from supervisor.diagnose.bundle import Bundle, Log
from supervisor.diagnose.reading.files import read_json

FILE: Final = "bundle.json"
"""An object: name of each part and its text (`ledger/packing.py` writes it)."""
_NAME: Final = re.compile(r"\w[\w.-]{0,99}")
"""Of a file in the folder itself: never a place outside."""


def parts_of(file: Path) -> dict[str, str]:
    """Its parts by their names. Raises `PayloadRefused` for a file of another shape, `OSError` where it is not read."""
    return {name: text for name, text in (read_json(file, dict[str, str]) or {}).items() if _NAME.fullmatch(name)}


@contextmanager
def unpacked(parts: Mapping[str, str]) -> Iterator[Path]:
    """A folder with these parts, as long as it is needed."""
    with TemporaryDirectory(prefix="supervise-") as name:
        for part, text in parts.items():
            Path(name, part).write_bytes(text.encode(errors="replace"))
        yield Path(name)


def held(bundle: Bundle) -> Bundle:
    """The same with its logs in memory: their files will be gone."""
    return replace(bundle, logs=tuple(_held(log) for log in bundle.logs))


def _held(log: Log) -> Log:
    data = b"".join(log.data())
    return replace(log, lines=(), pieces=lambda: iter([data]))
