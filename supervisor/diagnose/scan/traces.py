"""Python's tracebacks in a log, also of several ranks that wrote at once."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from supervisor.diagnose.scan.labels import split_label
from supervisor.model.ids import Rank

_T = TypeVar("_T", dict[Any, Any], set[Any])  # by writer
_FRAME: Final = re.compile(r'\s{1,32}File "([^"]{1,1024})", line (\d{1,9})(?:,? in (.{1,256}))?')
_EXCEPTION: Final = re.compile(r"((?:[A-Za-z_]\w{0,127}\.){0,12}[A-Z]\w{0,127})(?::( .*)?|\s*)$")
_SUFFIX: Final = ("Error", "Exception", "Exit", "Interrupt", "Failure", "Timeout", "Warning", "Fault")
_OF_OTHERS: Final = frozenset(
    {
        "BrokenPipeError",
        "ChildFailedError",
        "ConnectionAbortedError",
        "ConnectionResetError",
        "DistBackendError",
        "DistNetworkError",
        "KeyboardInterrupt",
        "ProcessExitedException",
        "ProcessRaisedException",
        "RayActorError",
        "SignalException",
        "SystemExit",
        "WorkerCrashedError",
    }
)
"""Raised where somebody else has failed, or has told the process to end."""
_LIBRARY: Final = re.compile(r"(?:site-packages|dist-packages|/lib/python\d|^<|/importlib/)")
_NEAR: Final = 40
"""Lines within which a traceback follows what announces it."""
_PATIENCE: Final = 200
"""Foreign lines between two of one traceback, where several ranks write into one file."""
_FRAMES: Final = 128
"""Kept of one traceback: its innermost ones."""
_WRITERS: Final = 16_384
"""Whose tracebacks are open at a time: where more begin, those are given up."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}:{self.function}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One traceback."""

    number: int
    """Number of the line that names the exception, or the fatal error."""
    rank: Rank | None
    frames: tuple[Frame, ...]
    """Outermost first."""
    exception: str
    """`KeyError`, with its module where the log has one; empty for a fatal error of the interpreter."""
    text: str
    is_follow_up: bool = False
    """Raised while another one was handled: that one came first."""
    is_ignored: bool = False
    """Python says so itself: raised in a finalizer or at exit, the program went on."""

    @property
    def is_echo(self) -> bool:
        """Somebody else's failure is what it tells of."""
        return self.exception.rpartition(".")[2] in _OF_OTHERS

    @property
    def top(self) -> Frame:
        """The innermost frame in the user's code, else the innermost of all."""
        own = [frame for frame in self.frames if not _LIBRARY.search(frame.file)]
        return (own or list(self.frames))[-1]


@dataclass(slots=True)
class _Open:
    """A traceback that is being read."""

    number: int
    is_reversed: bool = False
    """faulthandler writes the innermost frame first."""
    text: str = ""
    frames: list[Frame] = field(default_factory=list)
    is_follow_up: bool = False
    is_ignored: bool = False
    foreign: int = 0
    was_ours: bool = True
    """The line before belongs to it."""
    was_frame: bool = False
    """The line before was a frame: source text may follow."""


_IGNORED: Final = "Exception ignored "
FATAL: Final = "Fatal Python error: "
_FOLLOWS: Final = "above exception"
TRIGGERS: Final = ("Traceback (most recent call last)", FATAL, '", line ', _IGNORED, _FOLLOWS)
"""A log without any of these literals holds no traceback."""


def find_traces(lines: Iterable[tuple[int, str]], rank: Rank | None = None) -> Iterator[Trace]:
    """All tracebacks of a log, in the order of their ends; `rank`: who wrote it where no label says so."""
    reader = TraceReader(rank)
    for number, line in lines:
        yield from reader.read(number, line)
    yield from reader.end()


class TraceReader:
    """Takes lines one by one; keeps one open traceback per label."""

    def __init__(self, rank: Rank | None) -> None:
        self._rank = rank
        self._open: dict[Rank | None, _Open] = {}
        self._fatal: dict[Rank | None, tuple[int, str]] = {}
        self._follows: set[Rank | None] = set()
        self._ignored: dict[Rank | None, list[int]] = {}
        self.is_code = False
        """The line that was read last is source text that a traceback shows: it says what would be said."""

    @property
    def is_open(self) -> bool:
        """The lines that follow may belong to a traceback."""
        return bool(self._open or self._fatal)

    def read(self, number: int, line: str) -> Iterator[Trace]:
        """The tracebacks that are complete with this line."""
        self.is_code = False
        if not self.is_open and not _may_begin(line):
            return
        label, rest = split_label(line)
        if "Traceback (most recent call last)" in rest:
            _bounded(self._open)[label] = _Open(
                number=number, is_follow_up=label in self._follows, is_ignored=self._was_ignored(number, label)
            )
            self._follows.discard(label)
        elif rest.startswith(_IGNORED):
            near = [each for each in self._ignored.get(label, ()) if number - each <= _NEAR]
            _bounded(self._ignored)[label] = [*near, number]
        elif rest.startswith(FATAL):
            _bounded(self._fatal)[label] = (number, rest)
        elif rest.startswith("Current thread ") and label in self._fatal:
            at, text = self._fatal.pop(label)
            _bounded(self._open)[label] = _Open(number=at, is_reversed=True, text=text)
        elif _FOLLOWS in rest:
            _bounded(self._follows).add(label)
        elif label not in self._open and _FRAME.match(rest):
            # The log begins, or was cut, in the middle of one.
            _bounded(self._open)[label] = _Open(number=number)
            yield from self._go_on(label, self._open[label], number, rest)
        elif (now := self._open.get(label)) is not None:
            yield from self._go_on(label, now, number, rest)
        elif label in self._fatal and number - self._fatal[label][0] > _PATIENCE:
            del self._fatal[label]

    def _was_ignored(self, number: int, label: Rank | None) -> bool:
        """Python said just before that it ignores it; each such line is about one traceback."""
        said = [each for each in self._ignored.pop(label, []) if number - each <= _NEAR]
        if said[1:]:
            self._ignored[label] = said[1:]
        return bool(said)

    def end(self) -> Iterator[Trace]:
        """The log ends: a reversed one is complete whenever it stops."""
        for label, now in self._open.items():
            if now.is_reversed and now.frames:
                yield self._closed(label, now, number=now.number, exception="", text=now.text)

    def _go_on(self, label: Rank | None, now: _Open, number: int, rest: str) -> Iterator[Trace]:
        was_frame, now.was_frame = now.was_frame, False
        if match := _FRAME.match(rest):
            now.was_frame = True
            if not now.is_reversed or len(now.frames) < _FRAMES:
                now.frames.append(Frame(match[1], int(match[2]), match[3] or "?"))
                del now.frames[:-_FRAMES]
            now.was_ours = True
        elif now.is_reversed:
            if now.frames:
                del self._open[label]
                yield self._closed(label, now, number=now.number, exception="", text=now.text)
        elif exception := _exception(rest, is_next=now.was_ours and bool(now.frames)):
            del self._open[label]
            if now.frames:
                yield self._closed(label, now, number=number, exception=exception, text=rest)
        else:
            now.was_ours = rest.startswith(" ")
            self.is_code = was_frame and now.was_ours
            now.foreign += not now.was_ours
            if now.foreign > _PATIENCE:
                del self._open[label]

    def _closed(self, label: Rank | None, now: _Open, *, number: int, exception: str, text: str) -> Trace:
        frames = reversed(now.frames) if now.is_reversed else now.frames
        return Trace(
            number=number,
            rank=label if label is not None else self._rank,
            frames=tuple(frames),
            exception=exception,
            text=text,
            is_follow_up=now.is_follow_up,
            is_ignored=now.is_ignored,
        )


def _may_begin(line: str) -> bool:
    """Most lines, where no traceback is open, are told by this."""
    return any(one in line for one in TRIGGERS)


def _bounded(table: _T) -> _T:
    """The table with room for one more: a log that names millions of writers must not fill the memory."""
    if len(table) >= _WRITERS:
        table.clear()
    return table


def _exception(rest: str, *, is_next: bool) -> str:
    """The exception that this line names. A name without one of the usual ends counts only right behind a frame."""
    match = _EXCEPTION.match(rest)
    if match is None:
        return ""
    return match[1] if is_next or match[1].endswith(_SUFFIX) else ""
