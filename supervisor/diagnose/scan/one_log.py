"""One log, read once in pieces with bounded memory: what its lines show, when, and how far the program came."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final

from supervisor.diagnose.bundle import Log, Place
from supervisor.diagnose.evidence.stacks import MAIN, frame_of
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.scan.as_findings import of_hit, of_trace
from supervisor.diagnose.scan.catalogue import Catalogue, with_packs
from supervisor.diagnose.scan.ending import last_lines
from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.kept import Kept
from supervisor.diagnose.scan.labels import split_label, writer_of
from supervisor.diagnose.scan.lines import LineScanner, Telling, shortened
from supervisor.diagnose.scan.progress import Progress, may_hold_progress, progress_of
from supervisor.diagnose.scan.stamps import Stamp, may_hold_stamp, stamp_of
from supervisor.diagnose.scan.traces import TRIGGERS, Trace, TraceReader
from supervisor.diagnose.signatures import Signature
from supervisor.model.ids import NodeName

_CONTEXT_BYTES: Final = 8192
"""Kept of what was read, so that a line without a time finds the one before it."""
_LOOK_BACK_LINES: Final = 40
_HEAD_LINES: Final = 200
_STAMP_BYTES: Final = 512
"""What is looked at of a line for its time."""
_LINE_END: Final = re.compile(b"\n")
_TAIL_BYTES: Final = 128 * 1024
_UNBROKEN_BYTES: Final = 1 << 20
"""More than this without a newline is read as if there were one."""
_FRAMES: Final = 8
_ADDRESSES: Final = 4096
_OWN_ADDRESS: Final = re.compile(
    r"(?:Bootstrap ?: Using |OOB |NET/Socket ?: Using \[0\])[\w.-]{1,32}:(\d{1,3}(?:\.\d{1,3}){3})"
)
_NCCL: Final = " NCCL "
_PLACES: Final = ("NCCL INFO Bootstrap", "NCCL INFO NET", "NCCL WARN", "NCCL INFO cudaDriver", "NCCL INFO comm ")
"""Lines of NCCL's own log tell host and GPU; these are written once or seldom."""
_WENT_ON: Final = 3
"""So many reports of progress after a failure show that somebody had caught it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What one log shows."""

    log: Log
    findings: tuple[Finding, ...] = ()
    lines: int = 0
    first: Stamp | None = None
    last: Stamp | None = None
    """The first and the last time that its lines tell."""
    progress: tuple[Progress, ...] = ()
    """Reports of progress in its last part."""
    place: Place | None = None
    """Where its writer ran, as its own lines tell."""
    addresses: dict[str, NodeName] = field(default_factory=dict)
    """Nodes by the address that their own lines tell."""
    stack: tuple[str, ...] = ()
    """Frames of the main thread in the last dump of stacks, innermost first."""
    made_progress: bool = False
    """Such a report stands anywhere where it was looked at."""
    end: tuple[str, ...] = ()
    end_at: tuple[int, ...] = ()
    """Its last lines that say something, and their numbers."""


def scan_log(log: Log, index: int = 0, catalogue: Catalogue | None = None) -> Scanned:
    """All that the log shows. Raises `OSError` where its file cannot be read."""
    return _Scan(log, index, catalogue or reading_catalogue()).run()


@cache
def reading_catalogue(packs: tuple[Signature, ...] = ()) -> Catalogue:
    """The product's signatures and a site's, and what a reader of whole logs stops at beside them."""
    return with_packs(packs, (*TRIGGERS, *_PLACES, MAIN), place=_NCCL.encode())


class _Scan:
    def __init__(self, log: Log, index: int, catalogue: Catalogue) -> None:
        self._log, self._index, self._catalogue = log, index, catalogue
        self._scanner = LineScanner(kind=log.kind, signatures=catalogue)
        self._traces = TraceReader(log.rank)
        self._kept = Kept(log.rank)
        self._number = 1
        self._base = 0  # where in the log the data at hand begin
        self._seen = 0  # where the last line begins that was looked at for its time
        self._first: Stamp | None = None
        self._stamp: Stamp | None = None
        self._tail = b""
        self._progressed = False
        self._place: Place | None = None
        self._addresses: dict[str, NodeName] = {}
        self._stack: list[str] = []
        self._is_stack = False
        self._is_watching = False  # each line counts: one of a traceback, or of a dump of stacks

    def run(self) -> Scanned:
        keep, done = b"", 0  # of `keep` so much has been read: it is there to look back at
        for piece in self._log.data():
            if self._log.pieces is not None:
                self._catalogue.expect(len(piece))
            whole = piece.rfind(b"\n") + 1
            if not whole and len(keep) - done + len(piece) < _UNBROKEN_BYTES:
                keep += piece
                continue
            whole = whole or len(piece)
            data = b"".join((keep, memoryview(piece)[:whole]))
            self._block(data, done)
            begin = max(0, len(data) - _CONTEXT_BYTES)
            keep, done = data[begin:] + piece[whole:], len(data) - begin
            self._base += begin
        if len(keep) > done:
            self._block(keep, done)
        for trace in self._traces.end():
            if not self._kept.attach(trace):
                self._kept.add(of_trace(self._log, self._index, trace, self._stamp))
        return self._result()

    def _block(self, data: bytes, begin: int) -> None:
        end = len(data)
        if self._first is None:
            self._first = _first_stamp(data, begin)
        parts = self._kept.without_repeated(self._telling(data, begin))
        at, place, number = 0, begin, self._number
        while True:
            if not self._is_watching:
                if at >= len(parts):
                    break
                start = data.rfind(b"\n", place, parts[at][0]) + 1 or place
                number += _line_ends(data, place, start)
                place = start
            if place >= end:
                break
            stop = data.find(b"\n", place)
            stop = end if stop < 0 else stop
            here = at
            while at < len(parts) and parts[at][0] <= stop:
                at += 1
            self._line(number, data, place, stop, parts[here:at])
            place, number = stop + 1, number + (stop < end)
        if place < end:
            number += _line_ends(data, place, end)
        self._tail = _last_lines(self._tail + data[max(begin, end - _TAIL_BYTES - 1) : end])
        self._number = number

    def _telling(self, data: bytes, begin: int) -> Iterator[Telling]:
        """Parts of lines that must be looked at; where the place is known, no more of those that may tell it."""
        for part in self._scanner.telling(data, begin):
            hits, is_trigger, is_place = part[2]
            if hits or is_trigger or (is_place and self._place is None):
                yield part

    def _line(self, number: int, data: bytes, start: int, stop: int, parts: list[Telling]) -> None:
        hits: Sequence[Hit]
        if len(parts) == 1:
            hits, is_trigger, is_place = parts[0][2]
        else:
            hits = [hit for _, _, meaning in parts for hit in meaning.hits]
            is_trigger = any(meaning.is_trigger for _, _, meaning in parts)
            is_place = any(meaning.is_place for _, _, meaning in parts)
        text = _text(data, start, stop, parts)
        if is_place or (self._is_watching and _NCCL in text):
            self._learn_place(text)
        traces = self._watched(number, text) if is_trigger or self._is_watching else ()
        if self._traces.is_code or not (traces or hits):
            return
        stamp = self._stamp_at(data, start, text)
        trace = traces[-1] if traces else None
        for one in traces:
            if one.number != number and self._kept.attach(one):
                continue
            if one.number != number or not any(hit.role != "context" for hit in hits):
                self._kept.add(of_trace(self._log, self._index, one, stamp))
        for hit in hits:
            finding = partial(of_hit, self._log, self._index, number, hit, stamp=stamp, trace=trace)
            self._kept.add_hit(hit, finding)

    def _watched(self, number: int, text: str) -> Sequence[Trace]:
        """Tracebacks that are complete with this line; also what it tells of the main thread."""
        self._read_stack(text)
        traces = list(self._traces.read(number, text))
        self._is_watching = self._traces.is_open or self._is_stack
        return traces

    def _read_stack(self, text: str) -> None:
        if MAIN in text:
            self._stack, self._is_stack = [], True
        elif self._is_stack and (frame := frame_of(split_label(text)[1])) and len(self._stack) < _FRAMES:
            self._stack.append(frame)
        else:
            self._is_stack = False

    def _learn_place(self, text: str) -> None:
        own = _OWN_ADDRESS.search(text)
        if self._place is not None and own is None:
            return
        writer = writer_of(text)
        if writer.node and writer.pid:
            self._place = self._place or Place(node=writer.node, gpu=writer.gpu)
            if own and len(self._addresses) < _ADDRESSES:
                self._addresses[own[1]] = writer.node

    def _stamp_at(self, data: bytes, start: int, text: str) -> Stamp | None:
        """The line's own time, or that of the nearest line before it that has one, back to the last one asked for."""
        stamp, place = stamp_of(text), start
        looked = self._seen - self._base
        if stamp is None and self._may_tell(data, start):
            for _ in range(_LOOK_BACK_LINES):
                if stamp is not None or place <= 0 or place <= looked:
                    break
                before = data.rfind(b"\n", max(0, place - 1 - _CONTEXT_BYTES), place - 1) + 1
                line = data[before : min(place - 1, before + _STAMP_BYTES)]
                stamp = stamp_of(line.decode(errors="replace")) if may_hold_stamp(line) else None
                self._progressed = self._progressed or _tells_progress(line)
                place = before
        self._seen = self._base + start
        if stamp is not None:
            self._stamp = stamp
        return self._stamp

    def _may_tell(self, data: bytes, start: int) -> bool:
        """Lines from the last one looked at up to this place may hold a time or a report of progress."""
        begin = max(self._seen - self._base, 0)
        if start - begin > _CONTEXT_BYTES:
            return True
        lines = data[begin:start]
        return may_hold_stamp(lines) or (not self._progressed and may_hold_progress(lines))

    def _result(self) -> Scanned:
        lines = self._tail.decode(errors="replace").replace("\r\n", "\n").split("\n")
        numbered = list(enumerate(lines, start=self._number - self._tail.count(b"\n")))
        progress = tuple(_progress(numbered))
        ending = last_lines(numbered)
        last = next((stamp for _, line in reversed(numbered) if (stamp := stamp_of(line))), None)
        return Scanned(
            log=self._log,
            findings=tuple(self._findings(progress)),
            lines=self._number,
            first=self._first,
            last=last or self._stamp,
            progress=progress,
            place=self._place,
            addresses=self._addresses,
            stack=tuple(self._stack),
            made_progress=self._progressed or bool(progress),
            end=tuple(line for _, line in ending),
            end_at=tuple(number for number, _ in ending),
        )

    def _findings(self, progress: tuple[Progress, ...]) -> Iterator[Finding]:
        last = [one.line for one in progress[-_WENT_ON:]]
        return self._kept.findings(lambda finding: sum(one > finding.order[1] for one in last) >= _WENT_ON)


def _line_ends(data: bytes, begin: int, end: int) -> int:
    """How many there are. `bytes.count` looks at every byte by itself: three times as slow where lines are long."""
    return len(_LINE_END.findall(data, begin, end))


def _last_lines(data: bytes) -> bytes:
    """What is kept of it for its end: whole lines where there are some."""
    if len(data) <= _TAIL_BYTES:
        return data
    first = len(data) - _TAIL_BYTES
    return data[data.find(b"\n", first) + 1 or first :]


def _text(data: bytes, start: int, stop: int, parts: list[Telling]) -> str:
    """What is looked at of this line."""
    if len(parts) == 1:
        begin, end, meaning = parts[0]
        if begin == start and end == stop and meaning.hits:
            return meaning.hits[0].text  # the same, and at hand
    return shortened(data[max(start, stop - 4 * _CONTEXT_BYTES) : stop].decode(errors="replace"))


def _progress(numbered: list[tuple[int, str]]) -> Iterator[Progress]:
    for number, line in numbered:
        for part in line.split("\r") if "\r" in line else (line,):
            rank, text = split_label(part[:512])
            if found := progress_of(number, text, rank):
                yield found


def _tells_progress(line: bytes) -> bool:
    if not may_hold_progress(line):
        return False
    return progress_of(0, split_label(line.decode(errors="replace"))[1]) is not None


def _first_stamp(data: bytes, begin: int) -> Stamp | None:
    for line in data[begin : begin + 64 * 1024].split(b"\n")[:_HEAD_LINES]:
        if stamp := stamp_of(line[:200].decode(errors="replace")):
            return stamp
    return None
