"""Lines of a job's output that mean something, found while they are written."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from supervisor.diagnose.labels import expand_tasks, nccl_place, rank_inside, split_label
from supervisor.diagnose.signatures import Catalogue, Kind, Role, Signature, catalogue
from supervisor.model.ids import NodeName, Rank

_LINE_CHARS = 4096
"""What is looked at of one line: its beginning and its end."""
_TAIL_CHARS = 1024
_TASKS = 32
"""Hits that one line about many tasks makes at most."""


_OWN = "supervise: "
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
    rank: Rank | None = None
    node: NodeName | None = None
    code: int | None = None
    """Exit code that the line tells of."""
    signal: int | None = None
    gpu: int | None = None
    pci: str | None = None
    file: str | None = None
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
        *lines, self._rest = (self._rest + data).split(b"\n")
        # A progress bar may write megabytes without a newline: only the end of such a line is kept.
        self._rest = self._rest[-_LINE_CHARS:]
        return [hit for line in lines for hit in self.hits(line.decode(errors="replace"))]

    def hits(self, line: str) -> tuple[Hit, ...]:
        """Hits of one line."""
        line = shortened(line)
        if line.startswith(_OWN):
            return ()
        found = self.signatures.find(line, self.kind)
        return _hits(line, *found) if found else ()


def find_lines(lines: Iterable[str], kind: Kind = "any") -> Iterator[Hit]:
    """Hits of all lines."""
    scanner = LineScanner(kind=kind)
    for line in lines:
        yield from scanner.hits(line)


def shortened(line: str) -> str:
    """The line without what a progress bar overwrote, at most 4096 characters: its beginning and its end."""
    line = line.rstrip("\r\n").rpartition("\r")[2]
    if len(line) <= _LINE_CHARS:
        return line
    return f"{line[: _LINE_CHARS - _TAIL_CHARS]} … {line[-_TAIL_CHARS:]}"


def _hits(line: str, signature: Signature, match: re.Match[str]) -> tuple[Hit, ...]:
    named = match.groupdict()
    ranks: tuple[Rank | None, ...] = expand_tasks(named.get("tasks") or "", most=_TASKS) or (_rank(line, named),)
    place = nccl_place(split_label(line)[1])
    node = _single(named.get("node")) or (place[0] if place else None)
    gpu = _number(named.get("gpu"))
    return tuple(
        Hit(
            signature=signature.id,
            text=line,
            root=signature.role == "root",
            cause=signature.cause,
            role=signature.role,
            weight=signature.weight,
            rank=rank,
            node=node,
            code=_number(named.get("code")),
            signal=_number(named.get("signal")) or signature.signal,
            gpu=gpu if gpu is not None else (place[1] if place else None),
            pci=named.get("pci"),
            file=named.get("file"),
            names="" if node else (named.get("node") or ""),
        )
        for rank in ranks
    )


def _rank(line: str, named: dict[str, str | None]) -> Rank | None:
    number = _number(named.get("rank"))
    if number is not None:
        return Rank(number)
    labelled, rest = split_label(line)
    return labelled if labelled is not None else rank_inside(rest)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() and len(text) < 10 else None  # noqa: PLR2004 - longer ones are no number of ours


def _single(name: str | None) -> NodeName | None:
    """The name, unless it is a list: then the line does not say which of them."""
    return NodeName(name.rstrip(",:.")) if name and not re.search(r"[\[,]", name) else None
