"""The files of the ledger, opened without following anything that a user may have laid there."""

import os
import pwd
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from supervisor.errors import UsageError
from supervisor.ledger.site.names import ENDING, cluster_folder, is_month, month_of
from supervisor.ledger.site.share import Share

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of one job's file; those of the ledger's owner, which hold many jobs, have no limit."""
_AT_ONCE: Final = 64
"""Files that are open together: a disk or a file server brings them at once, where one by one each is waited for."""
_AHEAD: Final = 1024 * 1024
"""Bytes of each that are asked for then; of a longer one the rest comes while it is read."""
_MOST_PROBLEMS: Final = 1000
_SKEW_S: Final = 3600.0
"""The file server's clock may be as far off."""


@dataclass(slots=True)
class Problems:
    """What was left out: told one by one up to a number, then counted."""

    told: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, text: str) -> None:
        """Tell it, with what does not print in it replaced."""
        if len(self.told) < _MOST_PROBLEMS:
            self.told.append("".join(char if char.isprintable() else "?" for char in text))
        else:
            self.more += 1

    def all(self) -> tuple[str, ...]:
        """One text for each problem, and one for those that are not told."""
        return (*self.told, *([f"{self.more} more problems of this kind"] if self.more else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What is asked for."""

    since: float | None = None
    until: float | None = None
    clusters: Collection[str] | None = None

    def has_folder(self, name: str) -> bool:
        """The folder of a cluster that is asked for."""
        return self.clusters is None or name in {cluster_folder(cluster) for cluster in self.clusters}

    def has_month(self, month: str) -> bool:
        """Jobs that began in this month may lie in it. One that began before it may run within it."""
        return self.until is None or month <= month_of(self.until)

    def may_hold(self, changed_at: float) -> bool:
        """A file that was changed last at this time may have lines of it."""
        return self.since is None or changed_at >= self.since - _SKEW_S


@dataclass(slots=True)
class Opened:
    """One file, open for reading until the next one is asked for. Not frozen: that takes four times as long to make."""

    path: str
    """Relative to the ledger's folder."""
    folder: str
    """Of its cluster; empty: it lies beside those."""
    descriptor: int
    uid: int
    is_of_ledger: bool
    """It belongs to the ledger's owner: what it says of the owners of lines is believed."""
    begin: int
    end: int
    """The bytes that are read."""

    @property
    def owner(self) -> str:
        """Name of its owner."""
        return user_name(self.uid)


@cache
def user_name(uid: int) -> str:
    """The name of a user, or his number where he has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def changed_at(seen: os.stat_result) -> float:
    """When a file was written last; its owner may set any time for that, but none that is later than the change."""
    return min(seen.st_mtime, seen.st_ctime)


@contextmanager
def opened_folder(name: str, above: int | None) -> Iterator[int]:
    """A folder in an open one. The ledger's own (`above` is None) may be behind a link, those in it may not."""
    flags = FOLDER_FLAGS if above is not None else os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_files(root: Path, window: Window, problems: Problems, share: Share) -> Iterator[Opened]:
    """Every ledger file that the window may need. Raises `UsageError` where the ledger cannot be read at all."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as exc:
        raise UsageError(f"the ledger {root} cannot be read: {exc.strerror}; see SUPERVISE_LEDGER") from exc
    try:
        yield from _Walk(window, problems, os.fstat(descriptor).st_uid, share).root(descriptor)
    finally:
        os.close(descriptor)


class _Walk:
    """One pass over the ledger: root, clusters, months."""

    def __init__(self, window: Window, problems: Problems, owner: int, share: Share) -> None:
        self._window = window
        self._share = share
        self._problems = problems
        self._owner = owner

    def root(self, descriptor: int) -> Iterator[Opened]:
        """Clusters, then files of those who could not make a folder."""
        files: list[str] = []
        for name, is_folder in self._entries(descriptor, ""):
            if not is_folder:
                files.append(name)
            elif self._window.has_folder(name):
                with self._folder(descriptor, name, name) as inner:
                    yield from self._cluster(inner, name)
        yield from self._files(descriptor, files, "", "")

    def _cluster(self, descriptor: int | None, cluster: str) -> Iterator[Opened]:
        """Months, then months' files: upkeep moves lines from those to these."""
        path, files = f"{cluster}/", list[str]()
        for name, is_folder in self._entries(descriptor, path):
            if not is_folder:
                files.append(name)
            elif not is_month(name):
                self._problems.add(f"{path}{name} is a folder, but of no month: left out")
            elif self._window.has_month(name):
                with self._folder(descriptor, name, f"{path}{name}") as inner:
                    yield from self._month(inner, f"{path}{name}/", cluster)
        yield from self._files(descriptor, files, path, cluster)

    def _month(self, descriptor: int | None, path: str, cluster: str) -> Iterator[Opened]:
        files: list[str] = []
        for name, is_folder in self._entries(descriptor, path):
            if is_folder:
                self._problems.add(f"{path}{name} is a folder and no file: left out")
            else:
                files.append(name)
        yield from self._files(descriptor, files, path, cluster)

    def _entries(self, descriptor: int | None, path: str) -> Iterator[tuple[str, bool]]:
        """Name and whether it is a folder, newest first; what is hidden or no plain file is not there."""
        if descriptor is None:
            return
        try:
            with os.scandir(descriptor) as entries:
                found = [
                    (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
                    for entry in entries
                ]
        except OSError as exc:
            self._problems.add(f"{path.rstrip('/') or 'the ledger'} cannot be listed: {exc.strerror}")
            return
        for name, is_folder, is_file in sorted(found, reverse=True):
            if name.startswith("."):
                continue
            if is_folder or (is_file and name.endswith(ENDING)):
                yield name, is_folder
            else:
                what = f"is called {name!r}" if is_file else "is a link, or no file at all"
                self._problems.add(f"{path}{name} {what}: left out")

    @contextmanager
    def _folder(self, above: int | None, name: str, path: str) -> Iterator[int | None]:
        try:
            descriptor = os.open(name, FOLDER_FLAGS, dir_fd=above)
        except OSError as exc:
            self._problems.add(f"{path} cannot be read: {exc.strerror}")
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _files(self, above: int | None, names: Sequence[str], path: str, cluster: str) -> Iterator[Opened]:
        """Those of our share; `path`: of their folder, `cluster`: whose it is."""
        mine = [name for name in names if self._share.has(name)]
        for index in range(0, len(mine), _AT_ONCE):
            descriptors: list[int] = []
            try:
                found = [
                    self._file(above, name, path + name, cluster, descriptors)
                    for name in mine[index : index + _AT_ONCE]
                ]
                yield from filter(None, found)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)

    def _file(self, above: int | None, name: str, path: str, cluster: str, descriptors: list[int]) -> Opened | None:
        """The file, if it is one to be read; what is open then is one of the descriptors."""
        try:
            descriptor = os.open(name, FILE_FLAGS, dir_fd=above)
        except OSError as exc:
            self._problems.add(f"{path} cannot be read: {exc.strerror}")
            return None
        descriptors.append(descriptor)
        seen = os.fstat(descriptor)
        size, uid = seen.st_size, seen.st_uid
        is_of_ledger = uid == self._owner
        if not stat.S_ISREG(seen.st_mode):
            self._problems.add(f"{path} ({user_name(uid)}) is no plain file: left out")
        elif size > LARGEST and not is_of_ledger:
            self._problems.add(f"{path} ({user_name(uid)}) has {size} bytes: left out")
        elif size and self._window.may_hold(seen.st_mtime):
            begin, end = self._share.piece(name, descriptor, size)
            _ask_for(descriptor, begin, min(end - begin, _AHEAD))
            return Opened(path, cluster, descriptor, uid, is_of_ledger, begin, end)
        return None


def _ask_for(descriptor: int, begin: int, size: int) -> None:
    """Begin to bring these bytes, and wait for nothing. Some filesystems cannot; they are read all the same."""
    with suppress(OSError):
        os.posix_fadvise(descriptor, begin, size, os.POSIX_FADV_WILLNEED)
