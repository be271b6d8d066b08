"""Lines of a job's output that mean something, found while they are written."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from supervisor.diagnose.scan.catalogue import Catalogue, catalogue
from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.labels import Writer, expand_tasks, writer_of
from supervisor.diagnose.scan.memory import DULL, Meaning, Memory
from supervisor.diagnose.signatures import Kind, Signature
from supervisor.model.ids import NodeName, Rank

LINE_CHARS: Final = 4096
"""What is looked at of one line: its beginning and its end."""
_TAIL_CHARS: Final = 1024
_TASKS: Final = 32
"""Hits that one line about many tasks makes at most."""
_NUMBER_CHARS: Final = 10
_PIECE_BYTES: Final = 1 << 14
"""Less is not worth asking whether its lines repeat."""
_SAMPLE_BYTES: Final = 1 << 13
_NUMBERS: Final = frozenset({"gpu", "pid", "code", "signal", "errno", "ms", "step"})
_OWN: Final = "supervise: "
"""What we said of an earlier interruption is no evidence of this one."""


Telling = tuple[int, int, Meaning]
"""A part of a line that means something: where it begins and ends, and what."""


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
        return [hit for _, _, meaning in self.telling(data[:whole]) for hit in meaning.hits]

    def hits(self, line: str) -> tuple[Hit, ...]:
        """Hits of one line."""
        return tuple(hit for _, _, meaning in self.telling(line.encode(errors="replace")) for hit in meaning.hits)

    def telling(self, data: bytes, begin: int = 0) -> Iterator[Telling]:
        """The parts of lines from `begin` on that mean something, in order."""
        return self._recalled(data, begin) if self._is_repeating(data, begin) else self._searched(data, begin)

    def _is_repeating(self, data: bytes, begin: int) -> bool:
        """Most of its lines have been there word for word: memory is asked before the automaton."""
        if len(data) - begin < _PIECE_BYTES or b"\r" in data or data[begin - 1 : begin] not in {b"", b"\n"}:
            return False
        known = self.signatures.memory(self.kind).meanings
        first = [line for line in data[begin : begin + _SAMPLE_BYTES].split(b"\n")[:-1] if line]
        return sum(line in known for line in first) * 2 > len(first)

    def _recalled(self, data: bytes, begin: int) -> Iterator[Telling]:
        known = self.signatures.memory(self.kind).meanings
        start = begin
        for line in data[begin:].split(b"\n"):
            meaning = known.get(line)
            if meaning is None:
                for at, until, found in self._searched(line):
                    yield start + at, start + until, found
            elif meaning is not DULL:
                yield start, start + len(line), meaning
            start += len(line) + 1

    def _searched(self, data: bytes, begin: int = 0) -> Iterator[Telling]:
        memory = self.signatures.memory(self.kind)
        known = memory.meanings
        for start, end, literals in self.signatures.spots(data, begin):
            part = data[start:end]
            is_whole = start >= begin  # else not all of its literals are counted: its meaning is of use only here
            meaning = known.get(part) if is_whole else None
            if meaning is None:
                candidates = self.signatures.candidates(literals)
                meaning = self._meaning(part, candidates, memory if is_whole else Memory())
            if meaning is not DULL:
                yield start, end, meaning

    def _meaning(self, part: bytes, candidates: tuple[int, ...], memory: Memory) -> Meaning:
        shape = self.signatures.shape(part, candidates)
        fitting = memory.fitting.get((candidates, shape))
        is_trigger, is_place = self.signatures.is_trigger(candidates), self.signatures.place in part
        if fitting == () and not is_trigger and not is_place:
            return DULL  # not kept: that a part of this shape is the very same once more is no matter
        text = shortened(part.decode(errors="replace"))
        if fitting is None:
            fitting = () if text.startswith(_OWN) else self._fitting(text, candidates)
            memory.keep_fitting(candidates, shape, fitting)
        hits = tuple(hit for index in fitting for hit in self._hits(text, index))
        meaning = Meaning(hits, is_trigger, is_place) if hits or is_trigger or is_place else DULL
        if hits or part == shape:
            memory.keep_meaning(part, meaning)
        return meaning

    def _fitting(self, text: str, candidates: tuple[int, ...]) -> tuple[int, ...]:
        """The surest root or else the surest echo, and every signature of context."""
        known = self.signatures.signatures
        found = [index for index in candidates if self.signatures.search(index, text, self.kind)]
        for role in ("root", "echo"):
            if same := [index for index in found if known[index].role == role]:
                best = max(same, key=lambda index: known[index].weight)
                return (best, *(index for index in found if known[index].role == "context"))
        return tuple(found)

    def _hits(self, text: str, index: int) -> tuple[Hit, ...]:
        match = self.signatures.search(index, text, self.kind)
        return _hits(text, self.signatures.signatures[index], match) if match else ()


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


def _hits(line: str, signature: Signature, match: "re.Match[str]") -> tuple[Hit, ...]:
    named = {name: text for name, text in match.groupdict().items() if text is not None}
    writer = writer_of(line, match.start())
    rank = _number(named.pop("rank", None))
    own = Rank(rank) if rank is not None else writer.rank
    tasks = expand_tasks(named.pop("tasks", ""), most=_TASKS)
    return tuple(_hit(line, signature, named, writer, each) for each in tasks or (own,))


def _hit(line: str, signature: Signature, named: dict[str, str], writer: Writer, rank: Rank | None) -> Hit:
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
        **{"node": writer.node, "gpu": writer.gpu, "pid": writer.pid, "signal": signature.signal, **_told(named)},
    )


def _told(named: dict[str, str]) -> dict[str, Any]:
    """What the line itself tells, as fields of a hit."""
    told: dict[str, Any] = {}
    for name, text in named.items():
        if name == "node":
            node = _single(text)
            told |= {"node": node} if node else {"names": text}
        elif name not in _NUMBERS:
            told[name] = text
        elif (number := _number(text)) or (number == 0 and name != "signal"):
            told[name] = number
    return told


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) < _NUMBER_CHARS else None


def _single(name: str) -> NodeName | None:
    """The name, unless it is a list: then the line does not say which of them."""
    return NodeName(name.rstrip(",:.")) if name and not re.search(r"[\[,]", name) else None
