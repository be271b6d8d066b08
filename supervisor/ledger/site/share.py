"""One reader's share of a ledger that several processes read at once: all files of a run, a piece of a month's file."""

import os
import zlib
from dataclasses import dataclass
from typing import Final

from supervisor.ledger.site.names import ENDING, is_month

_SECTION: Final = b'\n{"kind":"owner"'
"""How a section of a month's file begins: what comes before and after it is of different files."""
_MONTHS_NAME: Final = len(f"2026-11{ENDING}")
_PIECE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Share:
    """The share with this number, of so many; without arguments everything."""

    number: int = 0
    of: int = 1

    def has(self, name: str) -> bool:
        """Whether the file is read at all. Files of one run go to one reader, months' files to all."""
        return self.of == 1 or _is_of_month(name) or self._is_of(name)

    def piece(self, name: str, descriptor: int, size: int) -> tuple[int, int]:
        """From where to where the file is read: whole sections."""
        if self.of == 1 or not _is_of_month(name):
            return 0, size
        return self._cut(descriptor, size, self.number), self._cut(descriptor, size, self.number + 1)

    def _is_of(self, name: str) -> bool:
        run = name.rpartition("-")[2].partition(".")[0]
        return zlib.crc32(run.encode(errors="surrogateescape")) % self.of == self.number

    def _cut(self, descriptor: int, size: int, number: int) -> int:
        """Where the share with this number begins: the first section from its part of the file on."""
        at = size * number // self.of
        if not 0 < at < size:
            return at
        while piece := os.pread(descriptor, _PIECE, at):
            found = piece.find(_SECTION)
            if found >= 0:
                return at + found + 1
            if len(piece) < len(_SECTION):
                break
            at += len(piece) - len(_SECTION) + 1
        return size


def _is_of_month(name: str) -> bool:
    return len(name) == _MONTHS_NAME and is_month(name.removesuffix(ENDING))
