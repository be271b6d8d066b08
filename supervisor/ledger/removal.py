"""What a run folder takes, and its removal: nothing outside of it is ever touched, whatever lies in it."""

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from supervisor.ledger.run_folder import RUN_FILE, discard_empty

_LAST = ("status.json", RUN_FILE)
"""What tells that the run is over, and that the folder is one of a run."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Taken:
    """What lies in a folder."""

    size_bytes: int
    """On disk."""
    changed_at: float
    """When anything in it was last written."""


def taken(folder: Path) -> Taken:
    """Of the folder and all below it; links count as themselves. Raises `OSError` where it cannot be read."""
    top = folder.lstat()
    size, changed_at = 0, top.st_mtime

    def refuse(exc: OSError) -> None:
        raise exc

    for place, folders, files in os.walk(folder, onerror=refuse):
        for name in (*folders, *files):
            found = os.lstat(os.path.join(place, name))  # noqa: PTH118  # a name may be any bytes
            size += found.st_blocks * 512
            changed_at = max(changed_at, found.st_mtime)
    return Taken(size, changed_at)


def why_not_ours(folder: Path) -> str:
    """Why this may not be removed, whatever the run; empty: it is a run folder of this user, reached without a link."""
    try:
        for place in (folder, folder.parent):
            if stat.S_ISLNK(place.lstat().st_mode):
                return f"{place} is a link"
        if folder.lstat().st_uid != os.geteuid():
            return "it belongs to another user"
        is_file = stat.S_ISREG((folder / RUN_FILE).lstat().st_mode)
    except OSError as exc:
        return f"it cannot be looked at ({exc.strerror})"
    return "" if is_file else f"its {RUN_FILE} is no file"


def remove_run(folder: Path) -> None:
    """Remove it; status and `run.json` last: what is left after a failure is still known as the folder of a run's end.

    Raises `OSError`. Never follows a link, not even one that takes a folder's place at this moment.
    """
    descriptor = os.open(folder, _FOLDER)
    try:
        names = os.listdir(descriptor)  # noqa: PTH208  # of what is open, whatever its path means by now
        for name in sorted(names, key=lambda name: _LAST.index(name) if name in _LAST else -1):
            if stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=descriptor)
            else:
                os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    folder.rmdir()
    discard_empty(folder.parent)
