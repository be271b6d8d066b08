"""The files of a month become one, which belongs to the ledger's owner and says whose lines it holds.

What runs here may be root among everybody's files: nothing is followed, nothing but plain files is read, and a file
goes only once its lines are on disk.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from supervisor.ledger.site.condense import condensed, owner_line
from supervisor.ledger.site.lines import Line, Lines
from supervisor.ledger.site.names import ENDING
from supervisor.ledger.site.users import is_pseudonym
from supervisor.ledger.site.walk import FILE_FLAGS, LARGEST, user_name
from supervisor.model.base import encode
from supervisor.model.site import SiteJob

_MODE: Final = 0o644


@dataclass(slots=True)
class Compacted:
    """What became of one month."""

    taken: list[str] = field(default_factory=list)
    """Files whose lines are in the month's file now."""
    left: list[str] = field(default_factory=list)
    """Files that stay as they are, each with the reason."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A file that was read: it may go if it is still what it was."""

    name: str
    seen: os.stat_result
    data: bytes


def compact(cluster: int, month: str, folder: int, names: Iterable[str], *, owner: int, key: bytes) -> Compacted:
    """Move the lines of these files of `folder` into the month's file in `cluster`, both open folders.

    Raises `OSError` where the month's file cannot be written; no file has gone then.
    """
    done = Compacted()
    sources = [source for name in names if (source := _source(folder, name, key, done)) is not None]
    if sources:
        target = f"{month}{ENDING}"
        known, changed_at = _known(cluster, target, owner)
        newest = max(changed_at, *(source.seen.st_mtime for source in sources))
        _write(cluster, target, (known, *(source.data for source in sources)), newest, owner)
        for source in sources:
            _remove(folder, source, done)
    return done


def _source(folder: int, name: str, key: bytes, done: Compacted) -> _Source | None:
    try:
        descriptor = os.open(name, FILE_FLAGS, dir_fd=folder)
    except OSError as exc:
        done.left.append(f"{name}: {exc.strerror}")
        return None
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1 or seen.st_size > LARGEST:
            done.left.append(f"{name} ({user_name(seen.st_uid)}): no plain file of its own, or too large")
            return None
        reader = Lines()
        lines = list(_all_lines(descriptor, reader, seen.st_size))
    except OSError as exc:
        done.left.append(f"{name}: {exc.strerror}")
        return None
    finally:
        os.close(descriptor)
    if _is_unnamed(lines, user_name(seen.st_uid)):
        done.left.append(f"{name}: its owner, {seen.st_uid}, has no name on this machine")
        return None
    if reader.left_out.newer:
        done.left.append(f"{name} ({user_name(seen.st_uid)}): lines of a newer version of supervise")
        return None
    return _Source(name, seen, _section(lines, user_name(seen.st_uid), key))


def _all_lines(descriptor: int, reader: Lines, size: int) -> Iterator[Line]:
    """As much as was there when it was looked at: its owner may make it longer at any moment."""
    while size > 0 and (piece := os.read(descriptor, min(reader.room, size))):
        size -= len(piece)
        yield from reader.take(piece)
    reader.end()


def _is_unnamed(lines: Iterable[Line], owner: str) -> bool:
    """Put under a number, lines in a user's name would be nobody's for ever, only because names are away now."""
    users = {line.user for line in lines if isinstance(line, SiteJob)}
    return owner.isdecimal() and any(user and not user.isdecimal() and not is_pseudonym(user) for user in users)


def _section(lines: Iterable[Line], owner: str, key: bytes) -> bytes:
    """A file's lines behind the name of its owner; nothing where it had none that can be read."""
    kept = condensed(lines)
    if not kept:
        return b""
    return b"".join(encode(line) + b"\n" for line in (owner_line(kept, owner, key), *kept))


def _known(cluster: int, name: str, owner: int) -> tuple[bytes, float]:
    """What the month's file holds already, and since when; one that somebody else has laid there holds nothing.

    Raises `OSError` where it is there and cannot be read: it is not to be replaced then.
    """
    try:
        seen = os.stat(name, dir_fd=cluster, follow_symlinks=False)
    except FileNotFoundError:
        return b"", 0.0
    if not stat.S_ISREG(seen.st_mode) or seen.st_uid != owner:
        return b"", 0.0
    with os.fdopen(os.open(name, FILE_FLAGS, dir_fd=cluster), "rb") as file:
        return file.read(), seen.st_mtime


def _write(cluster: int, name: str, parts: Iterable[bytes], newest: float, owner: int) -> None:
    """The month's file, whole or not at all; as old as the newest of what it holds."""
    draft = f".{name}.{os.getpid()}"
    descriptor = os.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE, dir_fd=cluster
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            if os.fstat(descriptor).st_uid != owner:
                os.fchown(descriptor, owner, -1)
            os.fchmod(descriptor, _MODE)
            os.utime(descriptor, (newest, newest))
            os.fsync(descriptor)
        os.rename(draft, name, src_dir_fd=cluster, dst_dir_fd=cluster)
    except OSError:
        os.unlink(draft, dir_fd=cluster)
        raise


def _remove(folder: int, source: _Source, done: Compacted) -> None:
    """Lines that were added at this moment keep their file: what it repeats counts once."""
    seen = os.stat(source.name, dir_fd=folder, follow_symlinks=False)
    was = source.seen
    if (seen.st_ino, seen.st_size, seen.st_mtime_ns) == (was.st_ino, was.st_size, was.st_mtime_ns):
        os.unlink(source.name, dir_fd=folder)
        done.taken.append(source.name)
    else:
        done.left.append(f"{source.name} ({user_name(was.st_uid)}): it is being written")
