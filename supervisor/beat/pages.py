"""The agent's side of the beat pages: what each rank of the newest attempt on this node last said."""

import contextlib
import math
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from supervisor.beat import supervise_beat as layout
from supervisor.model.ids import AttemptNo, Rank
from supervisor.model.wire import RankBeat

_NAME: Final = re.compile(r"(\d{1,9})-(\d{1,9})")
_OURS: Final = re.compile(r"\.?\d{1,9}-\d{1,9}(\.[0-9a-f]{8})?")
"""A page, or one that was being made."""
_STANDS_S: Final = 2.0
"""Whose count has not changed for so long is asked for its process's state."""
_PHASE_NAMES: Final = {code: name for name, code in layout.PHASES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One untorn reading of a page."""

    pid: int
    started: int
    """The owner's start in clock ticks since boot; 0 = unknown."""
    is_own_namespace: bool
    count: int
    step: int
    phase: str
    loss: float | None
    compute_s: float | None
    comm_s: float | None
    has_ended: bool
    """It said that it comes to its end."""
    tells: bool
    """It has told of a save, an evaluation or a pause."""


class Page:
    """One rank's page. Holds the file open, so that deleting it takes nothing from us.

    Read through the descriptor, not through a mapping: a mapping of a file that someone cuts short kills its reader.
    """

    def __init__(self, path: Path) -> None:
        """Open the page. Raises OSError; a page that is not ready yet is a `BlockingIOError`."""
        self.path = path
        self._fd = _opened(path)
        self._inode = os.fstat(self._fd).st_ino

    def close(self) -> None:
        """Let the page go."""
        os.close(self._fd)

    def read(self) -> Record | None:
        """What the rank last stored; None when it is in the middle of storing (or died there)."""
        first = os.pread(self._fd, layout.PAGE_BYTES, 0)
        if len(first) < layout.PAGE_BYTES or first != os.pread(self._fd, layout.PAGE_BYTES, 0):
            return None
        count, step, loss, phase, count_again = layout.RECORD.unpack_from(first, layout.RECORD_AT)
        if count != count_again or (not count and step != layout.NO_STEP):
            return None
        _, compute_s, comm_s = layout.TIMES.unpack_from(first, layout.TIMES_AT)
        pid, _, started, namespace = layout.OWNER.unpack_from(first, layout.OWNER_AT)
        return Record(
            pid=pid,
            started=started,
            is_own_namespace=namespace in {0, layout.pid_namespace()},
            count=count,
            step=step,
            phase=_PHASE_NAMES.get(phase, "step"),
            loss=_number(loss),
            compute_s=_number(compute_s),
            comm_s=_number(comm_s),
            has_ended=bool(first[layout.ENDED_AT]),
            tells=bool(first[layout.TELLS_AT]),
        )

    def is_gone(self) -> bool:
        """The file at the path is no longer this page."""
        try:
            return self.path.lstat().st_ino != self._inode
        except OSError:
            return True

    def ask(self, control: int, *, generation: int | None = None) -> None:
        """Set control bits that the rank reads at its next beat, and the generation if one is given."""
        old = layout.HEADER.unpack(os.pread(self._fd, layout.HEADER.size, 0))
        header = layout.HEADER.pack(*old[:2], old[2] | control, generation or old[3])
        os.pwrite(self._fd, header[layout.CONTROL_AT :], layout.CONTROL_AT)

    def remake(self) -> None:
        """Put a page of the next generation at the path, then tell the rank in the old one. Raises OSError."""
        old = layout.HEADER.unpack(os.pread(self._fd, layout.HEADER.size, 0))
        _make(self.path, control=old[2] & layout.STOP, generation=old[3] + 1)
        self.ask(layout.REMADE, generation=old[3] + 1)


@dataclass(slots=True)
class _Seen:
    """A rank's page and when its count last changed."""

    page: Page
    record: Record | None = None
    changed_at: float = 0.0
    is_remade: bool = field(default=False)


class Pages:
    """All pages of the newest attempt of one job on this node. Older attempts' pages are left alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, _Seen] = {}
        self._is_stop_asked = False
        self.attempt = AttemptNo(0)
        """The newest attempt that has pages here; 0 = none yet."""

    def close(self) -> None:
        """Let all pages go."""
        for seen in self._seen.values():
            seen.page.close()
        self._seen.clear()

    def remove(self) -> None:
        """Let all pages go and take them away, and the folder if it is empty then: the user may have chosen it."""
        self.close()
        with contextlib.suppress(OSError):
            if not self._folder.is_dir() or not layout.make_folder(str(self._folder)):
                return
            for path in self._folder.iterdir():
                if _OURS.fullmatch(path.name):
                    path.unlink(missing_ok=True)
            self._folder.rmdir()

    def read(self, *, now: float) -> tuple[RankBeat, ...]:
        """Each rank's last beat, by rank. `now` is monotonic seconds; ages count from it. Never raises."""
        self._discover()
        beats = [beat for name, seen in self._seen.items() if (beat := self._beat(name, seen, now=now)) is not None]
        return tuple(sorted(beats, key=lambda beat: beat.rank))

    def ask_to_stop(self) -> None:
        """Have `beat()` answer True in all ranks of this attempt, those that come later included."""
        self._is_stop_asked = True
        for seen in self._seen.values():
            seen.page.ask(layout.STOP)

    def _discover(self) -> None:
        names = dict(_names(self._folder))
        newest = max(names.values(), default=self.attempt)
        if newest > self.attempt:
            self.close()
            self.attempt, self._is_stop_asked = newest, False
        for name, attempt in names.items():
            if attempt == self.attempt and name not in self._seen:
                self._take(name)

    def _take(self, name: str) -> None:
        with contextlib.suppress(OSError):
            page = Page(self._folder / name)
            self._seen[name] = _Seen(page)
            if self._is_stop_asked:
                page.ask(layout.STOP)

    def _beat(self, name: str, seen: _Seen, *, now: float) -> RankBeat | None:
        _follow(seen)
        record = seen.page.read() or seen.record
        if record is None or not record.pid:
            return None
        known = seen.record
        if known is None or (known.pid, known.count) != (record.pid, record.count):
            seen.changed_at = now
        if known is not None and known.pid == record.pid and record.step == layout.NO_STEP:
            record = replace(record, step=known.step)
        seen.record = record
        return RankBeat(
            rank=Rank(int(name.partition("-")[2])),
            pid=record.pid,
            step=record.step,
            phase=record.phase,
            count=record.count,
            age_s=max(0.0, now - seen.changed_at),
            is_alive=_is_alive(record),
            loss=record.loss,
            compute_s=record.compute_s,
            comm_s=record.comm_s,
            has_ended=record.has_ended,
            tells=record.tells,
            state=_state(record) if now - seen.changed_at >= _STANDS_S else "",
        )


def _follow(seen: _Seen) -> None:
    """Remake a page whose file is gone, and go over to the new one when the rank has."""
    with contextlib.suppress(OSError):
        if not seen.page.is_gone():
            return
        if not seen.is_remade:
            seen.page.remake()
            seen.is_remade = True
        fresh = Page(seen.page.path)
        record = fresh.read()
        if record is None or not record.pid or not record.count:
            fresh.close()
            return
        seen.page.close()
        seen.page, seen.is_remade = fresh, False


def _is_alive(record: Record) -> bool:
    """Whether the owner exists. A pid of another namespace, or one without a start, cannot be judged: it lives."""
    if not record.is_own_namespace or not record.started:
        return True
    return layout.started_at(record.pid) == record.started


def _state(record: Record) -> str:
    """Of the owner, as the kernel has it; empty where it cannot be told."""
    if not record.is_own_namespace:
        return ""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{record.pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    return ""


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _names(folder: Path) -> Iterator[tuple[str, AttemptNo]]:
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - names are all that is needed, once per second
            if match := _NAME.fullmatch(name):
                yield name, AttemptNo(int(match[1]))


def _opened(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _require_page(fd, path)
    except OSError:
        os.close(fd)
        raise
    return fd


def _require_page(fd: int, path: Path) -> None:
    start = os.pread(fd, layout.PAGE_BYTES, 0)
    if len(start) < layout.PAGE_BYTES or layout.HEADER.unpack_from(start)[:2] != (layout.MAGIC, layout.VERSION):
        raise BlockingIOError(f"{path} is no beat page yet")


def _make(path: Path, *, control: int, generation: int) -> None:
    """A whole page at the path at once. A page that the rank has made itself meanwhile stays."""
    if not layout.make_folder(str(path.parent)):
        raise PermissionError(f"{path.parent} is not ours alone: delete it")
    header = layout.HEADER.pack(layout.MAGIC, layout.VERSION, control, generation)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    fresh.write_bytes(header.ljust(layout.PAGE_BYTES, b"\0"))
    fresh.chmod(0o600)
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        return
    finally:
        fresh.unlink()
