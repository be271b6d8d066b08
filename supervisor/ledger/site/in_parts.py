"""A large ledger read by several processes, each of which folds its share of the jobs into sums.

Hundreds of megabytes of lines take seconds to decode, and a job costs more to hand over than to fold. A job is folded
as soon as its record is complete. Where it turns out that there is more of it, in the same share or in that of another
reader (another user has written of it, or a job after it told its last words), its reader begins anew and keeps it.
What several readers have of one job they leave to the one who asked, so that the result is that of one reader.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from supervisor.errors import SuperviseError
from supervisor.ledger.site.answering import must_answer
from supervisor.ledger.site.gather import Gatherer, JobKey
from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.read import is_asked_for, read_files, without_collection
from supervisor.ledger.site.settled import Settled
from supervisor.ledger.site.share import Share
from supervisor.ledger.site.users import read_key
from supervisor.ledger.site.walk import Problems, Window

if TYPE_CHECKING:  # it takes a moment to load, and small ledgers need none
    from multiprocessing.connection import Connection

_MOST_READERS: Final = 8
_LARGE: Final = 8 * 1024 * 1024
_MANY: Final = 1000
_LEVELS: Final = ("ledger", "clusters", "months")
"""Of folders; what somebody has nested below is no part of it."""


class Sums(Protocol):
    """What histories are folded into; parts of them can be put together."""

    def add_all(self, histories: Iterable[JobHistory]) -> Any:  # itself
        """Some more jobs."""

    def merge(self, other: Any) -> None:  # one of its own kind
        """What another reader came to."""


S = TypeVar("S", bound=Sums)


@dataclass(slots=True)
class _Part(Generic[S]):
    """What one reader came to."""

    sums: S
    settled: Settled
    problems: Problems

    def met(self) -> "_Met":
        """The jobs of its lines."""
        return _Met(self.settled.gone, self.settled.waiting.known(), self.settled.again)


@dataclass(frozen=True, slots=True)
class _Met:
    """The jobs that a reader has met."""

    gone: set[JobKey]
    """They are in its sums."""
    waiting: list[JobKey]
    again: set[JobKey]
    """They are in its sums, and wrong there."""

    def too_early(self, several: set[JobKey]) -> set[JobKey]:
        """What is in its sums and must not; `several`: jobs that other readers have met, too."""
        return self.again | (self.gone & several)


@dataclass(frozen=True, slots=True)
class _Reading(Generic[S]):
    """What is read, and into what."""

    root: Path
    window: Window
    new: Callable[[], S]

    def part(self, share: Share, apart: Collection[JobKey] = frozenset()) -> _Part[S]:
        """A share, in which each job is folded as soon as its record is complete, but not those that are kept apart."""
        problems = Problems()
        settled = Settled(Gatherer(read_key(self.root), problems), apart)
        sums = self.new()
        sums.add_all(self._asked_for(self._settled(share, settled, problems)))
        return _Part(sums, settled, problems)

    def fold(self, waiting: Gatherer, sums: S) -> None:
        """Add the jobs that wait."""
        sums.add_all(self._asked_for(waiting.jobs()))

    def _settled(self, share: Share, settled: Settled, problems: Problems) -> Iterator[JobHistory]:
        for _ in read_files(self.root, self.window, settled, problems, share):
            yield from settled.take()

    def _asked_for(self, histories: Iterable[JobHistory]) -> Iterator[JobHistory]:
        return (each for each in histories if is_asked_for(each, self.window))


def fold_site(
    root: Path, new: Callable[[], S], window: Window, *, readers: int | None = None
) -> tuple[S, tuple[str, ...]]:
    """The sums over every job of the window, and what could not be read. `readers`: processes; None: as it fits.

    Raises `UsageError` where the ledger cannot be read, `SuperviseError` where it gives no answer, or a reader was
    killed.
    """
    must_answer(root)
    reading = _Reading(root, window, new)
    number = _readers(root) if readers is None else readers
    with without_collection():
        return _by_one(reading) if number < 2 else _by_readers(reading, number)  # noqa: PLR2004  # one: this process


def _by_one(reading: _Reading[S]) -> tuple[S, tuple[str, ...]]:
    part, apart = reading.part(Share()), set[JobKey]()
    while wrong := part.met().too_early(set()):
        apart |= wrong
        part = reading.part(Share(), apart)
    reading.fold(part.settled.waiting, part.sums)
    return part.sums, part.problems.all()


def _by_readers(reading: _Reading[S], number: int) -> tuple[S, tuple[str, ...]]:
    from multiprocessing import get_context  # see above

    context = get_context("fork")
    problems = Problems()
    left = Gatherer(read_key(reading.root), problems)
    with ExitStack() as stack:
        lines: list[Connection] = []
        for index in range(number):
            mine, theirs = context.Pipe()
            process = context.Process(target=_reader, args=(reading, Share(index, number), theirs), daemon=True)
            process.start()
            theirs.close()
            stack.callback(_end, process, mine)
            lines.append(mine)
        _agree(lines)
        told: list[str] = []
        sums = reading.new()
        for line in lines:
            part, drafts, found = _received(line)
            sums.merge(part)
            left.put(drafts)
            told += found
    reading.fold(left, sums)
    return sums, tuple(dict.fromkeys([*told, *problems.all()]))


def _agree(lines: Iterable["Connection"]) -> None:
    """Ask all readers what they met, until none has anything in its sums that another one knows more of."""
    is_over = False
    while not is_over:
        met = [_received(line) for line in lines]
        several = _several([*each.gone, *each.waiting] for each in met)
        is_over = not any(each.too_early(several) for each in met)
        for line in lines:
            line.send((several, is_over))


def _reader(reading: _Reading[S], share: Share, line: "Connection") -> None:
    """What one process does: tells which jobs it has met, leaves those that others met as well, and folds the rest."""
    try:
        part, apart = reading.part(share), set[JobKey]()
        is_over = False
        while not is_over:
            line.send(part.met())
            several, is_over = line.recv()
            if wrong := part.met().too_early(several):
                apart |= wrong
                part = reading.part(share, apart)
        waiting = part.settled.waiting
        drafts = waiting.leave(several)
        reading.fold(waiting, part.sums)
        line.send((part.sums, drafts, part.problems.all()))
    except BaseException as exc:  # noqa: BLE001  # told to the one who waits for it
        with suppress(OSError):
            line.send(exc)
    finally:
        line.close()
        os._exit(0)  # giving back a gigabyte piece by piece takes longer than reading a tenth of it


def _received(line: "Connection") -> Any:  # what the reader sends at this point
    try:
        found = line.recv()
    except EOFError as exc:
        raise SuperviseError("a process that read the ledger was killed (is memory short?): try again") from exc
    if isinstance(found, BaseException):
        raise found
    return found


def _several(found: Iterable[Iterable[JobKey]]) -> set[JobKey]:
    """The jobs that more than one reader has met."""
    counts = Counter(key for keys in found for key in keys)
    return {key for key, number in counts.items() if number > 1}


def _end(process: Any, line: "Connection") -> None:  # one of `multiprocessing`
    line.close()
    process.kill()
    process.join()


def _readers(root: Path) -> int:
    """One for each processor that we may use, where there is enough to read."""
    most = min(_MOST_READERS, len(os.sched_getaffinity(0)))
    return most if most > 1 and _is_large(root) else 1


def _is_large(root: Path) -> bool:
    """Many files, or a large one. What cannot be looked at is told of by the one who reads it."""
    seen, folders = 0, [root]
    for _ in _LEVELS:
        inner: list[Path] = []
        for folder in folders:
            found = _sizes_and_folders(folder, _MANY - seen)
            seen += len(found)
            if seen >= _MANY or sum(size for _, size, _ in found) >= _LARGE:
                return True
            inner += [folder / name for name, _, is_folder in found if is_folder]
        folders = inner
    return False


def _sizes_and_folders(folder: Path, most: int) -> list[tuple[str, int, bool]]:
    """Of so many entries at most: anybody may lay more than there is time for."""
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.name, entry.stat(follow_symlinks=False).st_size, entry.is_dir(follow_symlinks=False))
                for entry in islice(entries, most)
            ]
    except OSError:
        return []
