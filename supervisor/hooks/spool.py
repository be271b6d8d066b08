"""The hooks' folder on the node's own disk: records, and what one hook keeps for the next. Root's alone."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

import msgspec

from supervisor.hooks import trust

_T = TypeVar("_T")
RECORDS: Final = "node.jsonl"
_OLDER: Final = "node.jsonl.1"
_MOST_JOBS: Final = 1000
_LINE_BYTES: Final = 65536
_STATE_BYTES: Final = 4_000_000


class SpoolUnsafe(Exception):
    """Somebody else than root can write there. Nothing is read or written; trying again does not help."""


class Spool:
    """One folder, held open: what is put in its place later is not followed."""

    def __init__(self, folder: int, keep_bytes: int, *, dry_run: bool = False) -> None:
        self._folder = folder
        self._keep_bytes = keep_bytes
        self._dry_run = dry_run

    def append(self, record: msgspec.Struct) -> None:
        """One line, whole or not at all; the file of records stays within its bound, with one older part."""
        line = msgspec.json.encode(record) + b"\n"
        if len(line) > _LINE_BYTES:
            raise ValueError(f"a record of {len(line)} bytes")
        if self._dry_run:
            return
        self._make_room()
        descriptor = self._open(RECORDS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(descriptor, self._missing_newline() + line)
        finally:
            os.close(descriptor)

    def _missing_newline(self) -> bytes:
        """A line that was torn by a full disk or a crash must not take the next one with it."""
        with suppress(FileNotFoundError):
            descriptor = self._open(RECORDS, os.O_RDONLY)
            try:
                size = os.fstat(descriptor).st_size
                return b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b""
            finally:
                os.close(descriptor)
        return b""

    def _make_room(self) -> None:
        # The folder is on the node's own disk, so this lock works; who does not get it at once leaves it to the other.
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                if os.stat(RECORDS, dir_fd=self._folder, follow_symlinks=False).st_size > self._keep_bytes:
                    os.rename(RECORDS, _OLDER, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            finally:
                fcntl.flock(self._folder, fcntl.LOCK_UN)

    def load(self, name: str, kind: type[_T]) -> _T | None:
        """What was kept under this name; None where nothing was, or nothing that this version understands."""
        try:
            descriptor = self._open(name, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return msgspec.json.decode(os.pread(descriptor, _STATE_BYTES, 0), type=kind)
        except msgspec.DecodeError:
            return None
        finally:
            os.close(descriptor)

    def keep(self, name: str, value: msgspec.Struct) -> None:
        """In place of what was kept before, whole or not at all."""
        if self._dry_run:
            return
        new = f"{name}.new"
        with os.fdopen(self._open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as stream:
            stream.write(msgspec.json.encode(value))
        os.rename(new, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def drop(self, name: str) -> None:
        """Forget it; fine when there is nothing."""
        if self._dry_run:
            return
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)

    def drop_oldest(self, prefix: str) -> None:
        """Forget the oldest of that name where there are too many: their epilog never came."""
        # The folder that is held open, which a path would not be.
        names = [name for name in os.listdir(self._folder) if name.startswith(prefix)]  # noqa: PTH208
        if len(names) <= _MOST_JOBS:
            return
        by_age = sorted(names, key=lambda name: os.stat(name, dir_fd=self._folder, follow_symlinks=False).st_mtime)
        for name in by_age[: len(names) - _MOST_JOBS]:
            self.drop(name)

    def _open(self, name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._folder)
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            os.close(descriptor)
            raise SpoolUnsafe(f"{name} belongs to uid {facts.st_uid}, mode {stat.S_IMODE(facts.st_mode):04o}")
        return descriptor


@contextmanager
def opened(path: str, *, keep_bytes: int, owner: int = 0, dry_run: bool = False) -> Iterator[Spool]:
    """The folder, made where it is missing; raises SpoolUnsafe or OSError. A dry run changes nothing, nor makes it."""
    with ExitStack() as stack:
        if dry_run and not Path(path).exists():
            path = stack.enter_context(TemporaryDirectory(prefix="supervise-"))
        _make(Path(path), owner)
        if wrong := trust.complaint(path, owner=owner):
            raise SpoolUnsafe(wrong)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        stack.callback(os.close, folder)
        yield Spool(folder, keep_bytes, dry_run=dry_run)


def _make(path: Path, owner: int) -> None:
    """With the folders above it that are missing: where it lies may have the node's name in it."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    if missing and (wrong := trust.complaint(str(missing[-1].parent), owner=owner)):
        raise SpoolUnsafe(wrong)
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
