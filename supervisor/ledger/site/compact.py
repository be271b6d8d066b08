"""The files of a month become one, which belongs to the ledger's owner and says whose lines it holds.

What runs here may be root among everybody's files: nothing is followed, nothing but plain files is read, and a file
goes only once its lines are on disk.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from supervisor.ledger.site.condense import Names, condensed, owner_line
from supervisor.ledger.site.lines import Line, Lines
from supervisor.ledger.site.names import ENDING, draft_name
from supervisor.ledger.site.users import is_pseudonym
from supervisor.ledger.site.walk import FILE_FLAGS, LARGEST, changed_at, user_name
from supervisor.model.base import encode
from supervisor.model.site import SiteIncident, SiteJob, SiteUse

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


def compact(cluster: int, month: str, folder: int, files: Iterable[str], *, owner: int, names: Names) -> Compacted:
    """Move the lines of these files of `folder` into the month's file in `cluster`, both open folders.

    One file at a time is in memory. Raises `OSError` where the month's file cannot be written; no file has gone then.
    """
    done, sources = Compacted(), list[_Source]()
    _write(cluster, f"{month}{ENDING}", _sections(folder, files, owner, names, sources, done), sources, owner)
    for source in sources:
        _remove(folder, source, done)
    return done


def _sections(
    folder: int, files: Iterable[str], owner: int, names: Names, sources: list[_Source], done: Compacted
) -> Iterator[bytes]:
    """The lines of each file that can be taken, which is one of the sources then."""
    for name in files:
        try:
            descriptor = os.open(name, FILE_FLAGS, dir_fd=folder)
        except OSError as exc:
            done.left.append(f"{name}: {exc.strerror}")
            continue
        try:
            seen = os.fstat(descriptor)
            section, why_not = _section(descriptor, None if seen.st_uid == owner else name, seen, names)
        except OSError as exc:
            section, why_not = b"", f": {exc.strerror}"
        finally:
            os.close(descriptor)
        if why_not:
            done.left.append(f"{name}{why_not}")
        else:
            sources.append(_Source(name, seen))
            yield section


def _section(descriptor: int, name: str | None, seen: os.stat_result, names: Names) -> tuple[bytes, str]:
    """A file's lines behind the name of its owner, nothing where it has none that can be read; or why it stays."""
    owner = user_name(seen.st_uid)
    if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1 or seen.st_size > LARGEST:
        return b"", f" ({owner}): no plain file of its own, or too large"
    reader = Lines()
    kept = condensed(_all_lines(descriptor, reader, seen.st_size), name)
    if why_not := _is_to_wait(kept, owner, names):
        return b"", f": {why_not}"
    if reader.left_out.newer:
        return b"", f" ({owner}): lines of a newer version of supervise"
    if not kept:
        return b"", ""
    return b"".join(encode(line) + b"\n" for line in (owner_line(kept, owner, names), *kept)), ""


def _all_lines(descriptor: int, reader: Lines, size: int) -> Iterator[Line]:
    """As much as was there when it was looked at: its owner may make it longer at any moment."""
    while size > 0 and (piece := os.read(descriptor, min(reader.room, size))):
        size -= len(piece)
        yield from reader.take(piece)
    reader.end()


def _is_to_wait(lines: Iterable[SiteJob | SiteIncident | SiteUse], owner: str, names: Names) -> str:
    """Why nobody could say rightly now whose lines these are; that would hold for ever."""
    users = {line.user for line in lines if isinstance(line, SiteJob)} - {""}
    if owner.isdecimal() and any(not user.isdecimal() and not is_pseudonym(user) for user in users):
        return f"its owner, {owner}, has no name on this machine"
    if not names.key and any(map(is_pseudonym, users)):
        return "it has a pseudonym, and the key that proves it cannot be read"
    return ""


def _write(cluster: int, name: str, sections: Iterator[bytes], sources: list[_Source], owner: int) -> None:
    """The month's file, whole or not at all, if there is anything new; as old as the newest of what it holds."""
    first = next(sections, None)
    if first is None:
        return
    draft = draft_name(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, _MODE, dir_fd=cluster)
    try:
        with os.fdopen(descriptor, "wb") as file:
            known_at = _copy_known(cluster, name, owner, file)
            file.write(first)
            file.writelines(sections)
            file.flush()
            if os.fstat(descriptor).st_uid != owner:
                os.fchown(descriptor, owner, -1)
            os.fchmod(descriptor, _MODE)
            newest = max(known_at, *(changed_at(source.seen) for source in sources))
            os.utime(descriptor, (newest, newest))
            os.fsync(descriptor)
        os.rename(draft, name, src_dir_fd=cluster, dst_dir_fd=cluster)
    except BaseException:
        os.unlink(draft, dir_fd=cluster)
        raise


def _copy_known(cluster: int, name: str, owner: int, draft: IO[bytes]) -> float:
    """What the month's file holds already, and since when; one that somebody else has laid there holds nothing.

    Raises `OSError` where it is there and cannot be read: it is not to be replaced then.
    """
    try:
        seen = os.stat(name, dir_fd=cluster, follow_symlinks=False)
    except FileNotFoundError:
        return 0.0
    if not stat.S_ISREG(seen.st_mode) or seen.st_uid != owner:
        return 0.0
    with os.fdopen(os.open(name, FILE_FLAGS, dir_fd=cluster), "rb") as known:
        shutil.copyfileobj(known, draft)
    return changed_at(seen)


def _remove(folder: int, source: _Source, done: Compacted) -> None:
    """Lines that were added at this moment keep their file: what it repeats counts once."""
    seen = os.stat(source.name, dir_fd=folder, follow_symlinks=False)
    was = source.seen
    if (seen.st_ino, seen.st_size, seen.st_mtime_ns) == (was.st_ino, was.st_size, was.st_mtime_ns):
        os.unlink(source.name, dir_fd=folder)
        done.taken.append(source.name)
    else:
        done.left.append(f"{source.name} ({user_name(was.st_uid)}): it is being written")
