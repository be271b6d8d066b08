"""What an incident keeps of one file of the job's output: bounded in lines, bytes and time, in order. Pure."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.lines import shortened

_UNBROKEN_BYTES: Final = 1 << 16
"""So much of a line is waited for; what a progress bar wrote before is dropped."""
_TELLING: Final = 4096
_TELLING_BYTES: Final = 2_000_000
"""What telling lines may take beside the last lines."""
_TRACE: Final = "Traceback (most recent call last)"
_TRACES: Final = 16
_TRACE_LINES: Final = 60
"""A traceback is understood whole or not at all: so many lines from its first one are kept."""


@dataclass(frozen=True, slots=True)
class _Kept:
    number: int
    text: str
    at: float
    """When it was read."""


@dataclass(slots=True)
class Window:
    """The last lines of one file and, of the time span before its newest line, those that tell something."""

    keep_lines: int
    span_s: float
    count: int = 0
    """Lines read so far."""
    last_at: float = float("-inf")
    """When something was read last."""
    _last: deque[_Kept] = field(default_factory=deque)
    _telling: dict[str, _Kept] = field(default_factory=dict)
    _telling_bytes: int = 0
    _traces: deque[list[_Kept]] = field(default_factory=deque)
    _rest: bytes = b""

    def add(self, data: bytes, hits: Iterable[Hit], now: float) -> None:
        """Take what was read, and what a scanner found in its lines."""
        self.last_at = now
        whole, _, self._rest = (self._rest + data).rpartition(b"\n")
        self._rest = self._rest[-_UNBROKEN_BYTES:]
        fresh = [self._line(raw, now) for raw in whole.split(b"\n")] if whole or data.startswith(b"\n") else []
        self._last.extend(fresh)
        while len(self._last) > self.keep_lines:
            self._last.popleft()
        self._keep_traces(fresh, now)
        self._keep_telling(fresh, hits, now)

    def lines(self, begin: float) -> tuple[str, ...]:
        """In the order written: the last lines, and telling ones that were read since `begin`."""
        chosen = {kept.number: kept for kept in self._last}
        loose = [kept for kept in self._telling.values() if kept.at >= begin and kept.number not in chosen]
        traced = [kept for trace in self._traces for kept in trace if kept.at >= begin]
        chosen |= {kept.number: kept for kept in (*loose, *traced)}
        rest = shortened(self._rest.decode(errors="replace"))
        return (*(kept.text for _, kept in sorted(chosen.items())), *([rest] if rest.strip() else []))

    def _line(self, raw: bytes, now: float) -> _Kept:
        self.count += 1
        return _Kept(self.count, shortened(raw.decode(errors="replace")), now)

    def _keep_traces(self, fresh: list[_Kept], now: float) -> None:
        """The first ones within the span: what follows from a failure raises, too, and later."""
        for kept in fresh:
            if self._traces and len(self._traces[-1]) < _TRACE_LINES and self._is_next(kept):
                self._traces[-1].append(kept)
            elif _TRACE in kept.text:
                while self._traces and self._traces[0][0].at < now - self.span_s:
                    self._traces.popleft()
                if len(self._traces) < _TRACES:
                    self._traces.append([kept])

    def _is_next(self, kept: _Kept) -> bool:
        return self._traces[-1][-1].number + 1 == kept.number

    def _keep_telling(self, fresh: list[_Kept], hits: Iterable[Hit], now: float) -> None:
        """The first of each kind, node and rank within the span."""
        numbers: dict[str, int] = {}
        for hit in hits:
            key = f"{hit.signature} {hit.node} {hit.rank}"
            known = self._telling.get(key)
            if known and known.at >= now - self.span_s:
                continue
            numbers = numbers or {kept.text: kept.number for kept in reversed(fresh)}
            self._tell(key, _Kept(numbers.get(hit.text, self.count), hit.text, now))

    def _tell(self, key: str, kept: _Kept) -> None:
        old = self._telling.pop(key, None)
        self._telling_bytes -= len(old.text) if old else 0
        self._forget(kept.at - self.span_s)
        if len(self._telling) < _TELLING and self._telling_bytes < _TELLING_BYTES:
            self._telling[key] = kept
            self._telling_bytes += len(kept.text)

    def _forget(self, begin: float) -> None:
        """The oldest stand first; a few at a time are enough, since each new one calls this."""
        for key in [key for key, kept in islice(self._telling.items(), 2) if kept.at < begin]:
            self._telling_bytes -= len(self._telling.pop(key).text)
