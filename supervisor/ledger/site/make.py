"""The ledger's folders: everybody may write into them, nobody may remove what is another's."""

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from supervisor.errors import UsageError
from supervisor.ledger.site.names import NODES, PSEUDONYM_KEY, draft_name, is_draft
from supervisor.ledger.site.users import KEY_BYTES
from supervisor.ledger.site.walk import FOLDER_FLAGS, opened_folder

OPEN: Final = 0o1777
_NODES_MODE: Final = 0o755
"""Root's hooks write into it, and who is believed about nodes."""
_KEY_MODE: Final = 0o640


def make_root(root: Path, group: int) -> None:
    """The ledger's folder, open to all with the sticky bit, and the key for pseudonyms.

    `group`: whose members may read the key; -1: as it comes. A key that is there stays. Raises `UsageError` for a
    folder that holds other things and is not to be opened to everybody, `OSError`.
    """
    root.mkdir(parents=True, exist_ok=True)
    with opened_folder(str(root), None) as descriptor:
        names = [name for name in os.listdir(descriptor) if not is_draft(name)]  # noqa: PTH208  # an open folder
        if names and PSEUDONYM_KEY not in names:
            raise UsageError(f"{root} is not empty and no ledger; name a folder that is new")
        _make_key(descriptor, group)
        os.fchmod(descriptor, OPEN)
        make_nodes_folder(descriptor, os.fstat(descriptor).st_uid)


def make_nodes_folder(ledger: int, owner: int) -> None:
    """The folder for what root knows of nodes, closed to others. Raises as `make_folder` does."""
    make_folder(ledger, NODES, owner, _NODES_MODE)


def make_folder(above: int, name: str, owner: int, mode: int = OPEN) -> None:
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
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
            os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _make_key(root: int, group: int) -> None:
    """Whole or not at all: half a key would be there for good, and nobody's."""
    if _has_key(root):
        return
    draft = draft_name(PSEUDONYM_KEY)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=root)
    try:
        os.write(descriptor, secrets.token_bytes(KEY_BYTES))
        os.fchown(descriptor, os.fstat(root).st_uid, group)
        os.fchmod(descriptor, _KEY_MODE)
        os.fsync(descriptor)
        os.rename(draft, PSEUDONYM_KEY, src_dir_fd=root, dst_dir_fd=root)
    except BaseException:
        os.unlink(draft, dir_fd=root)
        raise
    finally:
        os.close(descriptor)


def _has_key(root: int) -> bool:
    """One that a reader takes for it."""
    try:
        seen = os.stat(PSEUDONYM_KEY, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return False
    is_owners = seen.st_uid == os.fstat(root).st_uid
    return stat.S_ISREG(seen.st_mode) and is_owners and seen.st_size >= KEY_BYTES
