"""The ledger's folders: everybody may write into them, nobody may remove what is another's."""

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from supervisor.errors import UsageError
from supervisor.ledger.site.names import PSEUDONYM_KEY
from supervisor.ledger.site.users import KEY_BYTES
from supervisor.ledger.site.walk import FOLDER_FLAGS, opened_folder

OPEN: Final = 0o1777
_KEY_MODE: Final = 0o640


def make_root(root: Path, group: int) -> None:
    """The ledger's folder, open to all with the sticky bit, and the key for pseudonyms.

    `group`: whose members may read the key; -1: as it comes. A key that is there stays. Raises `UsageError` for a
    folder that holds other things and is not to be opened to everybody, `OSError`.
    """
    root.mkdir(parents=True, exist_ok=True)
    with opened_folder(str(root), None) as descriptor:
        names = os.listdir(descriptor)  # noqa: PTH208  # an open folder has no path
        if names and PSEUDONYM_KEY not in names:
            raise UsageError(f"{root} is not empty and no ledger; name a folder that is new")
        os.fchmod(descriptor, OPEN)
        _make_key(descriptor, group)


def make_folder(above: int, name: str, owner: int) -> None:
    """A folder in an open one that belongs to `owner`; one that is there and is his is made right.

    Raises `OSError`, `PermissionError` among them where somebody else has laid one there.
    """
    try:
        os.mkdir(name, 0o700, dir_fd=above)
    except FileExistsError:
        is_new = False
    else:
        is_new = True
    descriptor = os.open(name, FOLDER_FLAGS, dir_fd=above)
    try:
        if is_new and os.fstat(descriptor).st_uid != owner:
            os.fchown(descriptor, owner, -1)
        if os.fstat(descriptor).st_uid != owner:
            raise PermissionError(errno.EPERM, "belongs to another user than the ledger does", name)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != OPEN:
            os.fchmod(descriptor, OPEN)
    finally:
        os.close(descriptor)


def _make_key(root: int, group: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(PSEUDONYM_KEY, flags, 0o600, dir_fd=root)
    except FileExistsError:
        return
    try:
        os.write(descriptor, secrets.token_bytes(KEY_BYTES))
        os.fchown(descriptor, -1, group)
        os.fchmod(descriptor, _KEY_MODE)
    finally:
        os.close(descriptor)
