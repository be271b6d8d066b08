"""The lines of a ledger file, decoded: what is torn, too long, of a newer version or no text is left out and counted.

Whoever may write to the ledger may write anything: what comes out of here has the right types, possible numbers and
printable texts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from supervisor.model.base import Fact
from supervisor.model.site import SCHEMA, Schema, SiteLine, SiteUse

LONGEST: Final = 64 * 1024
"""Bytes of a line, its end included."""


class SiteOwner(Fact, frozen=True, kw_only=True, tag_field="kind", tag="owner"):
    """In a compacted file, which belongs to the ledger's owner: whose lines follow."""

    schema: Schema = SCHEMA
    owner: str
    """Name of the user whose file it was; his pseudonym where he used one; empty: nobody's."""


Line = SiteLine | SiteOwner


class _Head(msgspec.Struct):
    """What any line of any version has."""

    schema: int = 0
    kind: str = ""


_decoder: Final[msgspec.json.Decoder[Line]] = msgspec.json.Decoder(Line)
_head: Final[msgspec.json.Decoder[_Head]] = msgspec.json.Decoder(_Head)
_NO_LINE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(slots=True)
class LeftOut:
    """How many lines of one file were left out, by reason."""

    torn: int = 0
    newer: int = 0
    long: int = 0
    unreadable: int = 0

    def __bool__(self) -> bool:
        return bool(self.torn or self.newer or self.long or self.unreadable)

    def __str__(self) -> str:
        reasons = (
            (self.torn, "torn at the end"),
            (self.newer, "of a newer version of supervise"),
            (self.long, f"longer than {LONGEST // 1024} KiB"),
            (self.unreadable, "not readable"),
        )
        return ", ".join(f"{count} {'line' if count == 1 else 'lines'} {why}" for count, why in reasons if count)


class Lines:
    """Takes a file's bytes in pieces and gives its lines in batches, never more than `LONGEST` bytes in memory."""

    def __init__(self) -> None:
        self.left_out = LeftOut()
        self._rest = b""
        self._is_skipping = False

    @property
    def room(self) -> int:
        """How many bytes the next piece may have."""
        return LONGEST - len(self._rest)

    def take(self, piece: bytes) -> list[Line]:
        """The lines that end within this piece."""
        data = self._rest + piece
        end = data.rfind(b"\n") + 1
        whole, self._rest = data[:end], data[end:]
        if self._is_skipping and end:
            whole = whole[whole.index(b"\n") + 1 :]
            self._is_skipping = False
        if len(self._rest) == LONGEST:
            self.left_out.long += not self._is_skipping
            self._is_skipping = True
        if self._is_skipping:
            self._rest = b""
        return self._decoded(whole)

    def end(self) -> None:
        """There is nothing more: a line without an end was torn, or is being written at this moment."""
        self.left_out.torn += bool(self._rest)

    def _decoded(self, whole: bytes) -> list[Line]:
        """All at once where nothing is odd about them: that is three times as fast."""
        if whole.isascii() and b"\\" not in whole:
            try:
                lines = _decoder.decode_lines(whole)
            except _NO_LINE:
                lines = []
            is_good = all(map(_is_possible, [line for line in lines if type(line) is SiteUse]))
            # The decoder itself lets an object go over several lines.
            if is_good and len(lines) == _newlines(whole):
                return lines
        return list(self._one_by_one(whole))

    def _one_by_one(self, whole: bytes) -> Iterator[Line]:
        for text in filter(bytes.strip, whole.split(b"\n")):
            try:
                line = _decoder.decode(text)
                is_plain = _is_plain(msgspec.json.decode(text))
            except _NO_LINE:
                self._count(text)
                continue
            if is_plain and _is_possible(line):
                yield line
            else:
                self.left_out.unreadable += 1

    def _count(self, text: bytes) -> None:
        try:
            is_newer = _head.decode(text).schema > SCHEMA
        except _NO_LINE:
            is_newer = False
        self.left_out.newer += is_newer
        self.left_out.unreadable += not is_newer


def _newlines(whole: bytes) -> int:
    """How many; a quarter of the time that `bytes.count` takes for one byte, which looks at each."""
    return len(whole) - len(whole.replace(b"\n", b""))


def _is_possible(line: Line) -> bool:
    """What bounds alone do not tell: nobody computes for longer than he holds his nodes."""
    return not isinstance(line, SiteUse) or line.computing_node_s <= line.held_node_s


def _is_plain(value: Any) -> bool:  # JSON, nested
    """No text in it holds anything but printable characters."""
    match value:
        case str():
            return value.isprintable()
        case dict():
            return all(_is_plain(name) and _is_plain(item) for name, item in value.items())
        case list():
            return all(map(_is_plain, value))
    return True
