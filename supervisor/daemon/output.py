"""The job's own output as evidence: followed from an attempt's start, scanned once, a window of it kept in memory."""

import asyncio
import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from supervisor.bus.protocol import NO_ATTEMPT
from supervisor.core.events import Event, LineSeen, RankFailed
from supervisor.daemon.tail import Tail
from supervisor.daemon.window import Window
from supervisor.diagnose.scan.catalogue import Catalogue, catalogue
from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.lines import LineScanner
from supervisor.model.ids import AttemptNo
from supervisor.telemetry.aside import aside

_READ_S = 2.0
BEHIND_S = 0.01
"""Before the next read where one did not suffice."""
_WHOLE_JOB: Final = "*** JOB "
_LINE_BYTES = 4096
"""What an event holds of one line."""
_TELLING = 4096
"""Kinds of telling lines (what, which node, which rank) that are told in one attempt."""
_Read = tuple[bytes, list[Hit]]
"""What one file had that was new, and what its lines mean."""


@dataclass(slots=True)
class Output:
    """All files that the job writes its output to (one or two)."""

    paths: list[Path]
    keep_lines: int
    span_s: float
    """How far telling lines are kept back in time."""
    signatures: Catalogue = field(default_factory=catalogue)
    attempt: AttemptNo = NO_ATTEMPT
    _tails: list[Tail] = field(default_factory=list)
    _scanners: list[LineScanner] = field(default_factory=list)
    _windows: list[Window] = field(default_factory=list)
    _first: set[str] = field(default_factory=set)
    _reading: "asyncio.Future[list[_Read]] | None" = None
    _is_waited_for: bool = False

    def begin(self, attempt: AttemptNo, *, offsets: list[int] | None = None) -> list[int]:
        """Read from here on for this attempt; returns where that is, so that a later supervisor can start there."""
        self.attempt = attempt
        self._tails = [Tail(path) for path in self.paths]
        self._scanners = [LineScanner(signatures=self.signatures) for _ in self.paths]
        self._windows = [Window(self.keep_lines, self.span_s) for _ in self.paths]
        self._first = set()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        for index, tail in enumerate(self._tails):
            if offsets and index < len(offsets):
                tail.offset = offsets[index]
            else:
                tail.to_end()
        return [tail.offset for tail in self._tails]

    @property
    def count(self) -> int:
        """Lines of this attempt that were read so far."""
        return sum(window.count for window in self._windows)

    @property
    def is_behind(self) -> bool:
        """More was written than one read takes: the next one should not wait."""
        return any(tail.is_behind for tail in self._tails)

    @property
    def last_at(self) -> float:
        """When something was read last; minus infinity: never."""
        return max((window.last_at for window in self._windows), default=float("-inf"))

    def windows(self, begin: float) -> list[tuple[str, ...]]:
        """Of each file the last lines of the attempt, and those that a signature knows and that came since `begin`."""
        return [window.lines(begin) for window in self._windows]

    async def read(self, now: float) -> list[Event]:
        """What the files say since the last call. A filesystem that gives no answer costs nothing but the news."""
        if self._is_waited_for or not self._tails:
            return []
        # The thread may hang on a dead filesystem for hours: no second one is started, and what it brings late counts.
        if self._reading is None:
            call = functools.partial(_read_all, self._tails, self._scanners)
            self._reading = asyncio.ensure_future(aside(call, deadline_s=None, name="output"))
        reading, self._is_waited_for = self._reading, True
        try:
            done, _ = await asyncio.wait({reading}, timeout=_READ_S)
        finally:
            self._is_waited_for = False
        if not done or reading is not self._reading:  # still under way, or of an attempt that is over
            return []
        self._reading = None
        return self._events(reading.result(), now)

    def _events(self, parts: list[_Read], now: float) -> list[Event]:
        events: list[Event] = []
        for window, (data, hits) in zip(self._windows, parts, strict=False):
            if not data:
                continue
            window.add(data, hits, now)
            for hit in hits:
                events += self._events_of(hit, now)
        return events

    def _events_of(self, hit: Hit, now: float) -> list[Event]:
        # slurmstepd says of a step what it then says of the whole job: only the latter ends it.
        key = f"{hit.signature} {hit.node} {hit.rank} {_WHOLE_JOB in hit.text}"
        if key in self._first or len(self._first) >= _TELLING:
            return []
        self._first.add(key)
        text = hit.text[:_LINE_BYTES]
        if hit.code or hit.signal:
            return [
                RankFailed(
                    at=now,
                    attempt=self.attempt,
                    rank=hit.rank,
                    node=hit.node,
                    code=hit.code,
                    signal=hit.signal,
                    text=text,
                )
            ]
        return [LineSeen(at=now, attempt=self.attempt, signature=hit.signature, text=text)]


def _read_all(tails: list[Tail], scanners: list[LineScanner]) -> list[_Read]:
    """Where many lines mean something they take a second per megabyte: not on the event loop."""
    parts = [tail.read() for tail in tails]
    return [(data, scanner.feed(data)) for scanner, data in zip(scanners, parts, strict=True)]
