"""The lines of a ledger file, decoded: what is torn, too long, of a newer version or no text is left out and counted.

Whoever may write to the ledger may write anything: what comes out of here has the right types, possible numbers and
printable texts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from supervisor.model.base import Fact
from supervisor.model.site import SCHEMA, SiteIncident, SiteJob, SiteLine, SiteUse

LONGEST: Final = 64 * 1024
"""Bytes of a line, its end included."""
_LATEST: Final = 4.1e9
"""2099: a time after that is none."""
_MOST: Final = 1e15


class SiteOwner(Fact, frozen=True, kw_only=True, tag_field="kind", tag="owner"):
    """In a compacted file, which belongs to the ledger's owner: whose lines follow."""

    schema: int = SCHEMA
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
            is_good = all([line.schema <= SCHEMA and _CHECKS[type(line)](line) for line in lines])  # noqa: C419  # faster
            # The decoder itself lets an object go over several lines.
            if is_good and len(lines) == whole.count(b"\n"):
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
            if not is_plain:
                self.left_out.unreadable += 1
            elif self._passes(line):
                yield line

    def _passes(self, line: Line) -> bool:
        is_newer = line.schema > SCHEMA
        is_possible = _is_possible(line)
        self.left_out.newer += is_newer
        self.left_out.unreadable += not is_newer and not is_possible
        return is_possible and not is_newer

    def _count(self, text: bytes) -> None:
        try:
            is_newer = _head.decode(text).schema > SCHEMA
        except _NO_LINE:
            is_newer = False
        self.left_out.newer += is_newer
        self.left_out.unreadable += not is_newer


def _is_possible(line: Line) -> bool:
    """Its numbers can be: a forged one must not tip a mean over."""
    return _CHECKS[type(line)](line)


def _can_be_incident(line: SiteIncident) -> bool:
    return (
        0 <= line.evidence_at <= _LATEST
        and 0 <= line.at <= _LATEST
        and 0 <= line.confidence <= 1
        and 0 <= line.lost_node_s <= _MOST
        and 0 <= line.node_count <= _MOST
        and (line.recovery_s is None or 0 <= line.recovery_s <= _MOST)
    )


def _can_be_use(line: SiteUse) -> bool:
    return (
        0 <= line.at <= _LATEST
        and 0 <= line.computing_node_s <= line.held_node_s <= _MOST
        and 0 <= line.restarts <= _MOST
        and (line.energy_j is None or 0 <= line.energy_j <= _MOST)
    )


def _can_be_job(line: SiteJob) -> bool:
    return 0 <= line.at <= _LATEST and 0 <= line.gpus_per_node <= _MOST


# A table: `match` would take a third of the time that decoding does.
_CHECKS: Final[dict[type, Callable[[Any], bool]]] = {
    SiteIncident: _can_be_incident,
    SiteUse: _can_be_use,
    SiteJob: _can_be_job,
    SiteOwner: lambda _: True,
}


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
