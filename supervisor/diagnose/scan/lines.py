"""Lines of a job's output that mean something, found while they are written."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from supervisor.diagnose.scan.catalogue import Catalogue, Spot, catalogue
from supervisor.diagnose.scan.labels import Writer, expand_tasks, writer_of
from supervisor.diagnose.signatures import Kind, Mark, Role, Scope, Signature
from supervisor.model.ids import NodeName, Rank

LINE_CHARS: Final = 4096
"""What is looked at of one line: its beginning and its end."""
_TAIL_CHARS: Final = 1024
_TASKS: Final = 32
"""Hits that one line about many tasks makes at most."""
_NUMBER_CHARS: Final = 10
_OWN: Final = "supervise: "
"""What we said of an earlier interruption is no evidence of this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line that a signature knows; a line about several tasks makes one per task."""

    signature: str
    text: str
    root: bool
    """The line shows why something failed, not only that it did."""
    cause: str = ""
    role: Role = "context"
    weight: float = 0.0
    scope: Scope = "own"
    marks: tuple[Mark, ...] = ()
    rank: Rank | None = None
    local_rank: int | None = None
    node: NodeName | None = None
    gpu: int | None = None
    pid: int | None = None
    pci: str | None = None
    code: int | None = None
    """Exit code that the line tells of."""
    signal: int | None = None
    file: str | None = None
    peer: str | None = None
    errno: int | None = None
    ms: int | None = None
    """How long the writer had waited."""
    step: int | None = None
    number: str | None = None
    names: str = ""
    """Nodes in Slurm's short form, where the line names several."""


@dataclass(slots=True)
class LineScanner:
    """Takes a log in pieces as it grows; a line cut by a piece's end is judged when the rest has come."""

    kind: Kind = "any"
    signatures: Catalogue = field(default_factory=catalogue)
    _rest: bytes = b""

    def feed(self, data: bytes) -> list[Hit]:
        """Hits of the lines that are complete with these bytes."""
        data = self._rest + data
        whole = data.rfind(b"\n") + 1
        # A progress bar may write megabytes without a newline: only the end of such a line is kept.
        self._rest = data[whole:][-LINE_CHARS:]
        part = data[:whole]
        return [hit for spot in self.signatures.spots(part) for hit in self.hits_at(part, spot)]

    def hits(self, line: str) -> tuple[Hit, ...]:
        """Hits of one line."""
        data = line.encode(errors="replace")
        return tuple(hit for spot in self.signatures.spots(data) for hit in self.hits_at(data, spot))

    def hits_at(self, data: bytes, spot: Spot) -> tuple[Hit, ...]:
        """Hits of this part of a line: the surest root or else the surest echo, and every line of context."""
        text = shortened(data[spot.start : spot.end].decode(errors="replace"))
        if text.startswith(_OWN):
            return ()
        known = [
            found
            for index in spot.candidates
            if index < len(self.signatures.signatures) and (found := self.signatures.search(index, text, self.kind))
        ]
        return tuple(hit for signature, match in _chosen(known) for hit in _hits(text, signature, match))


def find_lines(lines: Iterable[str], kind: Kind = "any") -> Iterator[Hit]:
    """Hits of all lines."""
    scanner = LineScanner(kind=kind)
    for line in lines:
        yield from scanner.hits(line)


def shortened(line: str) -> str:
    """The line without what a progress bar overwrote, at most 4096 characters: its beginning and its end."""
    line = line.rstrip("\r\n").rpartition("\r")[2]
    if len(line) <= LINE_CHARS:
        return line
    return f"{line[: LINE_CHARS - _TAIL_CHARS]} … {line[-_TAIL_CHARS:]}"


def _chosen(known: "list[tuple[Signature, re.Match[str]]]") -> "list[tuple[Signature, re.Match[str]]]":
    for role in ("root", "echo"):
        if same := [one for one in known if one[0].role == role]:
            best = max(same, key=lambda one: one[0].weight)
            return [best, *(one for one in known if one[0].role == "context")]
    return known


def _hits(line: str, signature: Signature, match: "re.Match[str]") -> tuple[Hit, ...]:
    named = match.groupdict()
    writer = writer_of(line, match.start())
    rank = _number(named.get("rank"))
    own = Rank(rank) if rank is not None else writer.rank
    tasks = expand_tasks(named.get("tasks") or "", most=_TASKS)
    return tuple(_hit(line, signature, named, writer, each) for each in tasks or (own,))


def _hit(line: str, signature: Signature, named: dict[str, str | None], writer: Writer, rank: Rank | None) -> Hit:
    node = _single(named.get("node"))
    gpu, pid = _number(named.get("gpu")), _number(named.get("pid"))
    return Hit(
        signature=signature.id,
        text=line,
        root=signature.role == "root",
        cause=signature.cause,
        role=signature.role,
        weight=signature.weight,
        scope=signature.scope,
        marks=signature.marks,
        rank=rank,
        local_rank=writer.local_rank,
        node=node or writer.node,
        gpu=gpu if gpu is not None else writer.gpu,
        pid=pid if pid is not None else writer.pid,
        pci=named.get("pci"),
        code=_number(named.get("code")),
        signal=_number(named.get("signal")) or signature.signal,
        file=named.get("file"),
        peer=named.get("peer"),
        errno=_number(named.get("errno")),
        ms=_number(named.get("ms")),
        step=_number(named.get("step")),
        number=named.get("number"),
        names="" if node else (named.get("node") or ""),
    )


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isdecimal() and len(text) < _NUMBER_CHARS else None


def _single(name: str | None) -> NodeName | None:
    """The name, unless it is a list: then the line does not say which of them."""
    return NodeName(name.rstrip(",:.")) if name and not re.search(r"[\[,]", name) else None
