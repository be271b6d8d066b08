"""Files about nodes that root, the ledger's owner or the caller has written: hooks' records, and marks of repair."""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from supervisor.errors import UsageError
from supervisor.hooks.spool import RECORDS
from supervisor.ledger.site.names import NODES
from supervisor.model.base import encode
from supervisor.model.ids import NodeName
from supervisor.model.node import SCHEMA, NodeRecord
from supervisor.report.nodes.marks import Returned

FOLDER: Final = NODES
"""In the ledger; a name with a dot is no cluster's."""
MARKS: Final = "returned.jsonl"
SPOOL: Final = Path("/var/spool/supervise")
_LINE_BYTES: Final = 65536
_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_T = TypeVar("_T", NodeRecord, Returned)


@dataclass(slots=True)
class NodeFiles:
    """Reads them, and keeps what could not be read."""

    ledger: Path | None
    problems: list[str] = field(default_factory=list)

    def records(self, given: Path | None) -> list[NodeRecord]:
        """Of the place that was named, else of this node and of the ledger."""
        if given is not None:
            _must_be_there(given)
        places = [given] if given is not None else [SPOOL / RECORDS, *([self.ledger / FOLDER] if self.ledger else [])]
        files = dict.fromkeys(path for place in places for path in self._files(place) if path.name != MARKS)
        return [record for path in files for record in self._lines(path, NodeRecord)]

    def marks(self) -> list[Returned]:
        """Of the ledger."""
        return list(self._lines(self.ledger / FOLDER / MARKS, Returned)) if self.ledger else []

    def mark(self, node: str) -> Path:
        """Writes down that this node was repaired, now. Raises `UsageError` where that would not be believed."""
        if self.ledger is None:
            raise UsageError("no ledger is set, and the mark is kept there: --ledger FOLDER")
        if os.geteuid() not in {0, self.ledger.stat().st_uid}:
            raise UsageError(f"only root and the owner of {self.ledger} may say that a node was repaired")
        folder = self.ledger / FOLDER
        folder.mkdir(mode=0o755, exist_ok=True)
        if not self._is_safe(folder.lstat(), folder):
            raise UsageError(self.problems[-1])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(folder / MARKS, flags, 0o644)
        try:
            os.write(descriptor, encode(Returned(node=NodeName(node), at=round(time.time(), 3))) + b"\n")
        finally:
            os.close(descriptor)
        return folder / MARKS

    def _files(self, place: Path) -> Iterator[Path]:
        """The file with its older part, or all of a folder."""
        try:
            if not place.is_dir():
                yield from (path for path in (place.with_name(f"{place.name}.1"), place) if path.exists())
            elif self._is_safe(place.lstat(), place):
                yield from sorted(path for path in place.iterdir() if path.name.endswith((".jsonl", ".jsonl.1")))
        except PermissionError as exc:
            # Without a word where nobody asked: the folder on a node is root's alone.
            if place != SPOOL / RECORDS:
                self.problems.append(f"{place}: {exc.strerror}")

    def _lines(self, path: Path, kind: type[_T]) -> Iterator[_T]:
        decoder, left_out = msgspec.json.Decoder(kind), 0
        for line in self._raw(path):
            try:
                fact = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                left_out += 1
                continue
            if fact.schema <= SCHEMA:
                yield fact
            else:
                left_out += 1
        if left_out:
            self.problems.append(f"{path}: {left_out} lines left out: torn, or of a newer version")

    def _raw(self, path: Path) -> Iterable[bytes]:
        """Whole lines of a file that nobody else could have written; a line that is too long comes in pieces."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            return
        except OSError as exc:
            if path.parent != SPOOL:
                self.problems.append(f"{path}: {exc.strerror}")
            return
        with os.fdopen(descriptor, "rb") as stream:
            facts = os.fstat(descriptor)
            if stat.S_ISREG(facts.st_mode) and self._is_safe(facts, path):
                while line := stream.readline(_LINE_BYTES + 1):
                    if line.strip():
                        yield line

    def _is_safe(self, facts: os.stat_result, path: Path) -> bool:
        """Root, the ledger's owner or the caller has written it: what decides about nodes is nobody else's word."""
        owners = {0, os.geteuid(), *([self.ledger.stat().st_uid] if self.ledger else [])}
        if facts.st_uid in owners and not facts.st_mode & _BY_OTHERS and not stat.S_ISLNK(facts.st_mode):
            return True
        mode = stat.S_IMODE(facts.st_mode)
        self.problems.append(f"{path} belongs to uid {facts.st_uid}, mode {mode:04o}: not believed")
        return False


def _must_be_there(given: Path) -> None:
    """Raises `UsageError` where somebody has named what is not there, or what he cannot reach."""
    try:
        given.stat()
    except OSError as exc:
        raise UsageError(f"--records {given}: {exc.strerror}") from exc
