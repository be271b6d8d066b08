"""What the ledger's owner does daily: folders for months to come; old months become one file, and go at last."""

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from supervisor.errors import UsageError
from supervisor.ledger.site.compact import compact
from supervisor.ledger.site.condense import Names
from supervisor.ledger.site.make import make_folder, make_nodes_folder
from supervisor.ledger.site.names import ENDING, NODES, is_draft, is_month, month_after, month_of, months_before
from supervisor.ledger.site.users import KEY_BYTES, read_key
from supervisor.ledger.site.walk import Problems, changed_at, opened_folder, user_name

_DAY_S: Final = 86_400.0
_KEEP: Final = re.compile(r"([1-9]\d{0,5})d")
_WHOLE_MONTHS: Final = 2
"""This month and the one before stay as they are: their jobs run."""
_DRAFT_S: Final = _DAY_S
"""What was begun so long ago nobody goes on with."""
_QUIET_S: Final = 30 * _DAY_S
"""A living job writes every hour; one that was silent for so long has ended."""


@dataclass(slots=True)
class Upkeep:
    """What was done, or would be."""

    made: list[str] = field(default_factory=list)
    """Folders of months."""
    compacted: dict[str, int] = field(default_factory=dict)
    """Month's file to the number of files that went into it."""
    removed: list[str] = field(default_factory=list)
    clusters: int = 0
    problems: Problems = field(default_factory=Problems)


def parse_keep(text: str) -> float:
    """`400d` in seconds. Raises `UsageError`."""
    match = _KEEP.fullmatch(text)
    if match is None:
        raise UsageError(f"ledger_keep={text!r} is no number of days such as 400d")
    return int(match[1]) * _DAY_S


def keep_up(root: Path, *, keep_s: float, now: float, is_dry: bool = False) -> Upkeep:
    """Do what is due, or only say it. Raises `UsageError` where that cannot be, or not by this user.

    What goes wrong with one thing is told and costs no other.
    """
    done = Upkeep()
    try:
        with opened_folder(str(root), None) as ledger:
            owner = os.fstat(ledger).st_uid
            if os.geteuid() not in {0, owner}:
                raise UsageError(f"{root} belongs to {user_name(owner)}: only that user and root keep it up")
            names = Names(key=read_key(root), salt=secrets.token_bytes(KEY_BYTES))
            _Keeper(ledger, owner, names, keep_s, now, is_dry=is_dry, done=done).ledger()
    except OSError as exc:
        raise UsageError(f"the ledger {root} cannot be kept up: {exc.strerror}; see SUPERVISE_LEDGER") from exc
    return done


class _Keeper:
    """Goes over an open ledger once."""

    def __init__(
        self, ledger: int, owner: int, names: Names, keep_s: float, now: float, *, is_dry: bool, done: Upkeep
    ) -> None:
        self._ledger = ledger
        self._owner = owner
        self._hidden = names
        self._keep_s = keep_s
        self._now = now
        self._is_dry = is_dry
        self._done = done

    def ledger(self) -> None:
        """The folder for what is known of nodes, all clusters, and the files beside them."""
        with self._telling(NODES):
            self._nodes()
        self._drafts(self._ledger, "")
        for name in _names(self._ledger):
            with self._telling(name):
                if name.endswith(ENDING):
                    self._loose(self._ledger, "", name)
                    continue
                with opened_folder(name, self._ledger) as cluster:
                    if os.fstat(cluster).st_uid == self._owner:
                        self._done.clusters += 1
                        self._cluster(cluster, name)

    def _nodes(self) -> None:
        """There before somebody else makes one: what lies in his would be believed by nobody."""
        if NODES not in _all_names(self._ledger):
            self._done.made.append(NODES)
        if not self._is_dry:
            make_nodes_folder(self._ledger, self._owner)

    def _cluster(self, cluster: int, path: str) -> None:
        """Folders ahead, then the old months; what nobody wants any more is not compacted before it goes."""
        this = month_of(self._now)
        for month in {this, month_after(this)} - set(_names(cluster)):
            self._done.made.append(f"{path}/{month}")
            if not self._is_dry:
                make_folder(cluster, month, self._owner)
        self._drafts(cluster, f"{path}/")
        for name in _names(cluster):
            with self._telling(f"{path}/{name}"):
                month = name.removesuffix(ENDING)
                if is_month(month) and _end_of(month) < self._now - self._keep_s:
                    self._remove(cluster, path, name)
                elif is_month(name) and name <= months_before(this, _WHOLE_MONTHS):
                    self._compact(cluster, path, name)
                elif name.endswith(ENDING) and not is_month(month):
                    self._loose(cluster, f"{path}/", name)

    def _compact(self, cluster: int, path: str, month: str) -> None:
        with opened_folder(month, cluster) as folder:
            if os.fstat(folder).st_uid != self._owner:
                raise PermissionError(errno.EPERM, "belongs to another user than the ledger does")
            taken = [name for name in _names(folder) if _changed_at(folder, name) < self._now - _QUIET_S]
            if not self._is_dry:
                result = compact(cluster, month, folder, taken, owner=self._owner, names=self._hidden)
                taken = result.taken
                for reason in result.left:
                    self._done.problems.add(f"{path}/{month}/{reason}: left as it is")
            is_empty = not _names(folder)
        if taken:
            self._done.compacted[f"{path}/{month}{ENDING}"] = len(taken)
        if is_empty and not self._is_dry:
            os.rmdir(month, dir_fd=cluster)

    def _loose(self, folder: int, path: str, name: str) -> None:
        """A job's file beside the months, from a time without their folders."""
        if _changed_at(folder, name) < self._now - self._keep_s:
            self._remove(folder, path.removesuffix("/"), name)

    def _drafts(self, folder: int, path: str) -> None:
        """What an upkeep that was killed has left behind; in a folder of everybody also others may call a file so."""
        for name in filter(is_draft, _all_names(folder)):
            with self._telling(f"{path}{name}"):
                seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if seen.st_uid in {self._owner, os.geteuid()} and changed_at(seen) < self._now - _DRAFT_S:
                    self._remove(folder, path.removesuffix("/"), name)

    def _remove(self, folder: int, path: str, name: str) -> None:
        """A file, or a month with all its files."""
        whole = "/".join(filter(None, (path, name)))
        is_folder = stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        if is_folder:
            with opened_folder(name, folder) as month:
                self._empty(month, whole)
        if not self._is_dry:
            (os.rmdir if is_folder else os.unlink)(name, dir_fd=folder)
        self._done.removed.append(whole)

    def _empty(self, month: int, path: str) -> None:
        """Its files one by one, then folders that somebody has made in it: a nest of them costs nothing but itself."""
        if os.fstat(month).st_uid != self._owner:
            raise PermissionError(errno.EPERM, "belongs to another user than the ledger does")
        for name in () if self._is_dry else _all_names(month):
            with self._telling(f"{path}/{name}"):
                if stat.S_ISDIR(os.stat(name, dir_fd=month, follow_symlinks=False).st_mode):
                    shutil.rmtree(name, dir_fd=month)
                else:
                    os.unlink(name, dir_fd=month)

    @contextmanager
    def _telling(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            self._done.problems.add(f"{path}: {exc.strerror}: left as it is")
        except RecursionError:  # of what removes folders: somebody has nested a thousand of them
            self._done.problems.add(f"{path}: folders too deep: left as it is")


def _end_of(month: str) -> float:
    return datetime.strptime(month_after(month), "%Y-%m").replace(tzinfo=UTC).timestamp()


def _changed_at(folder: int, name: str) -> float:
    return changed_at(os.stat(name, dir_fd=folder, follow_symlinks=False))


def _names(descriptor: int) -> list[str]:
    """What lies in an open folder; what is hidden is somebody's draft, or the key."""
    return sorted(name for name in _all_names(descriptor) if not name.startswith("."))


def _all_names(descriptor: int) -> list[str]:
    return os.listdir(descriptor)  # an open folder has no path
