"""Tries a folder with files of our own: writing, link(), flock, execution, the server's clock. All are gone again."""

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from supervisor.doctor.mounts import mount_of
from supervisor.doctor.place import FolderSeen
from supervisor.hooks.bounded import gather
from supervisor.model.base import encode

DEADLINE_S: Final = 10.0
_SIZE: Final = 1 << 20
"""Written, so that a full quota shows."""


def try_folder(path: Path) -> FolderSeen:
    """What can be done in the folder, or where it is not there yet, in the one that it will be made in.

    Within the deadline, though the filesystem hang.
    """
    answer = gather({"folder": lambda: encode(_tried(path))}, deadline_s=DEADLINE_S)["folder"]
    if answer.value is None:
        return FolderSeen(path=str(path), complaint=answer.complaint)
    return msgspec.json.decode(answer.value, type=FolderSeen)


def _tried(path: Path) -> FolderSeen:
    there = next(each for each in (path, *path.parents) if each.is_dir())
    mount = mount_of(Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace"), str(there.resolve()))
    seen = FolderSeen(path=str(path), filesystem=mount.filesystem, options=mount.options)
    try:
        with tempfile.TemporaryDirectory(prefix=".supervise-doctor-", dir=there) as name:
            return _with_files(Path(name), seen)
    except OSError as exc:
        return msgspec.structs.replace(seen, complaint=f"{there}: {exc.strerror or exc}")


def _with_files(folder: Path, seen: FolderSeen) -> FolderSeen:
    """Raises `OSError` where not even a file can be written."""
    file = folder / "file"
    file.write_bytes(os.urandom(_SIZE))
    before = time.time()
    file.touch()
    skew_s = file.stat().st_mtime - before
    file.chmod(0o700)
    room = os.statvfs(folder)
    return msgspec.structs.replace(
        seen,
        flock=_refusal(lambda: _flock(file)),
        link=_refusal(lambda: os.link(file, folder / "second")),
        can_execute=os.access(file, os.X_OK),
        free_bytes=room.f_bavail * room.f_frsize,
        free_files=room.f_favail if room.f_files else None,
        skew_s=round(skew_s, 3),
    )


def _flock(file: Path) -> None:
    with file.open("rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _refusal(act: Callable[[], None]) -> str:
    try:
        act()
    except OSError as exc:
        return errno.errorcode.get(exc.errno or 0, str(exc))
    return ""
