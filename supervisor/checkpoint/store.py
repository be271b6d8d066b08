"""Where checkpoints lie: a local path, or anything that fsspec reaches. Read only."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from supervisor.errors import CheckpointsUnreadable

_SCHEME = "://"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file or folder."""

    name: str
    path: str
    """As the store takes it."""
    is_folder: bool
    size: int = 0
    """Bytes; 0 for a folder."""
    modified: float | None = None
    """Seconds since the epoch by the store's clock; None where it tells none."""


class Store(Protocol):
    """What is asked of a place. Both raise `FileNotFoundError` for what is not there, else `CheckpointsUnreadable`."""

    def entries(self, path: str) -> list[Entry]:
        """What lies in a folder, in no order, never from a cache."""

    def open(self, path: str) -> Any:
        """A context manager that gives the file, open for reading bytes from any position."""

    def address(self, path: str) -> str:
        """The path as the user's script is told it."""


def store_of(url: str) -> tuple[Store, str]:
    """The store of a path or URL, and the path within it. Raises `CheckpointsUnreadable`."""
    if url.startswith("file://"):
        url = url.removeprefix("file://")
    if _SCHEME not in url:
        return LocalStore(), str(Path(url).expanduser().absolute())
    return _remote(url)


class LocalStore:
    """A folder on a mounted filesystem."""

    def entries(self, path: str) -> list[Entry]:
        """See `Store`."""
        with _translated(path), os.scandir(path) as found:
            return [entry for one in found if (entry := self._entry(one)) is not None]

    @staticmethod
    def _entry(one: os.DirEntry[str]) -> Entry | None:
        try:
            facts = one.stat()
        except FileNotFoundError:  # removed since, or a link to nowhere
            return None
        is_folder = one.is_dir()
        size = 0 if is_folder else facts.st_size
        return Entry(name=one.name, path=one.path, is_folder=is_folder, size=size, modified=facts.st_mtime)

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """See `Store`."""
        with _translated(path), Path(path).open("rb") as file:
            yield file

    def address(self, path: str) -> str:
        """See `Store`."""
        return path


class RemoteStore:
    """A filesystem of fsspec."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem  # fsspec publishes no types

    def entries(self, path: str) -> list[Entry]:
        """See `Store`."""
        with _foreign(path):
            self._filesystem.invalidate_cache()
            found = self._filesystem.ls(path, detail=True)
        # An object store lists the folder itself where somebody made a marker object for it.
        return [_remote_entry(one) for one in found if one["name"].rstrip("/") != path.rstrip("/")]

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """See `Store`."""
        with _foreign(path), self._filesystem.open(path, "rb") as file:
            yield file

    def address(self, path: str) -> str:
        """See `Store`."""
        return str(self._filesystem.unstrip_protocol(path))


def _remote(url: str) -> tuple[Store, str]:
    try:
        import fsspec  # 40 ms that a local path need not pay
        from fsspec.core import url_to_fs
    except ImportError as exc:
        raise CheckpointsUnreadable(f"{url}: fsspec is not installed; pip install fsspec") from exc
    try:
        filesystem, path = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as exc:
        protocol = url.partition(_SCHEME)[0]
        raise CheckpointsUnreadable(f"{url}: {exc}; or pip install 'slurm-supervise[{protocol}]'") from exc
    except (ValueError, OSError) as exc:
        known = ", ".join(sorted(fsspec.available_protocols())[:12])
        raise CheckpointsUnreadable(f"{url}: {exc} (known are {known}, …)") from exc
    return RemoteStore(filesystem), str(path)


def _remote_entry(facts: dict[str, Any]) -> Entry:
    path = str(facts["name"]).rstrip("/")
    is_folder = facts.get("type") == "directory"
    times = (facts.get(key) for key in ("LastModified", "last_modified", "mtime", "updated", "created"))
    return Entry(
        name=path.rpartition("/")[2],
        path=path,
        is_folder=is_folder,
        size=0 if is_folder else int(facts.get("size") or 0),
        modified=next((_seconds(time) for time in times if time is not None), None),
    )


def _seconds(time: object) -> float | None:
    if isinstance(time, datetime):
        return time.timestamp()
    return float(time) if isinstance(time, int | float) else None


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """The operating system's errors as ours."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise CheckpointsUnreadable(f"{path}: {exc.strerror or exc}") from exc


@contextmanager
def _foreign(path: str) -> Iterator[None]:
    """The same for libraries that derive their errors from nothing in common."""
    try:
        yield
    except (FileNotFoundError, CheckpointsUnreadable, Broken):
        raise
    except Exception as exc:  # throttling, expired rights, lost connections: each library has its own
        raise CheckpointsUnreadable(f"{path}: {type(exc).__name__}: {exc}") from exc


class Broken(Exception):
    """The file could be read and is not what it should be. `verdict` is `incomplete` or `corrupt`."""

    def __init__(self, verdict: str, why: str) -> None:
        super().__init__(why)
        self.verdict = verdict


Deadline = Callable[[], None]
"""Raises `CheckpointsUnreadable` when the time is over; called between two questions to a store."""
