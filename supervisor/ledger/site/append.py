"""One job's file in the site's ledger: lines are added at its end and nothing is ever changed.

The folders are everybody's: a link, a pipe or a file of another user may lie where ours should, and is never written
to. Everything here blocks: for a thread of its own.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from supervisor.ledger.site.names import cluster_folder, file_name, month_of
from supervisor.ledger.site.users import named
from supervisor.ledger.site.walk import FOLDER_FLAGS, user_name
from supervisor.model.base import encode_readable
from supervisor.model.site import SiteIncident, SiteJob, SiteUse

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MODE: Final = 0o644
_OTHER_NAMES: Final = 9
"""Tried where something foreign has our name."""


class SiteFile:
    """The file of one job, found or made anew at each line: folders come and go."""

    def __init__(self, root: Path, job: SiteJob, *, users: str) -> None:
        """`users`: the setting `ledger_users`; `job.user` is filled in from it."""
        self._root = root
        self._job = job
        self._users = users
        self._is_named = False

    def begin(self) -> None:
        """The job's own line. Raises `OSError`, as all that follows."""
        self._append(b"", with_job=True)

    def add(self, line: SiteIncident | SiteUse) -> None:
        """One more line; in a file that is new behind the job's own."""
        self._append(encode_readable(line) + b"\n", with_job=False)

    def _append(self, data: bytes, *, with_job: bool) -> None:
        with ExitStack() as stack:
            descriptor = self._open(stack)
            size = os.fstat(descriptor).st_size
            if with_job or not size:
                data = self._job_line() + data
            # A line torn by a full disk or a kill must not swallow this one.
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                data = b"\n" + data
            if os.write(descriptor, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._root))

    def _job_line(self) -> bytes:
        if not self._is_named:
            name = user_name(os.geteuid())
            # A node that does not know its user must not make him look like a forger: the file's owner tells.
            user = "" if name.isdecimal() else named(name, self._users, self._root)
            self._job = msgspec.structs.replace(self._job, user=user)
            self._is_named = True
        return encode_readable(self._job) + b"\n"

    def _open(self, stack: ExitStack) -> int:
        """Our file, in the best folder that takes it."""
        refusal: OSError | None = None
        for folder in self._folders(stack):
            try:
                descriptor = self._own_file(folder)
            except OSError as exc:  # the next folder up may take it
                refusal = refusal or exc
                continue
            stack.callback(os.close, descriptor)
            return descriptor
        reason = refusal.errno if refusal and refusal.errno else errno.EACCES
        raise OSError(reason, f"the site's ledger takes no line: {os.strerror(reason)}", str(self._root))

    def _folders(self, stack: ExitStack) -> Iterator[int]:
        """The month's folder, the cluster's, the ledger itself: those that belong to the ledger's owner.

        In a folder of another user he could remove our file, whatever its mode.
        """
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, root)
        owner, found = os.fstat(root).st_uid, [root]
        for name in (cluster_folder(self._job.cluster), month_of(self._job.at)):
            try:
                inner = os.open(name, FOLDER_FLAGS, dir_fd=found[-1])
            except OSError:
                break
            stack.callback(os.close, inner)
            if os.fstat(inner).st_uid != owner:
                break
            found.append(inner)
        yield from reversed(found)

    def _own_file(self, folder: int) -> int:
        name = file_name(self._job.job, self._job.run)
        base, dot, ending = name.rpartition(".")
        others = (f"{base}.{number}{dot}{ending}" for number in range(1, _OTHER_NAMES + 1))
        for candidate in (name, *others):
            try:
                descriptor = os.open(candidate, _FLAGS | os.O_CREAT | os.O_EXCL, _MODE, dir_fd=folder)
                os.fchmod(descriptor, _MODE)  # whatever the umask says: a report is made by others
            except FileExistsError:
                found = _opened_if_own(candidate, folder)
                if found is None:
                    continue
                descriptor = found
            return descriptor
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)


def _opened_if_own(name: str, folder: int) -> int | None:
    """The file where it is ours and nowhere else; a link to one of our other files is none."""
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=folder)
    except OSError:
        return None
    seen = os.fstat(descriptor)
    if stat.S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid() and seen.st_nlink == 1:
        return descriptor
    os.close(descriptor)
    return None
