"""Which filesystem a path lies on, from the text of /proc/self/mounts. Pure."""

import re
from typing import Final, NamedTuple

LOCAL: Final = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "ramfs", "squashfs"})
"""Of one host; a shared folder is rarely one of these."""


class Mount(NamedTuple):
    """Type and options."""

    filesystem: str
    options: tuple[str, ...]


def mount_of(text: str, path: str) -> Mount:
    """The mount that holds the absolute path; the last one wins where two cover the same folder."""
    best, found = -1, Mount("", ())
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 4:  # noqa: PLR2004  # device, folder, type, options
            continue
        folder = _unescaped(fields[1])
        if _holds(folder, path) and len(folder) >= best:
            best, found = len(folder), Mount(fields[2], tuple(fields[3].split(",")))
    return found


def _holds(folder: str, path: str) -> bool:
    return folder in {"/", path} or path.startswith(f"{folder}/")


def _unescaped(text: str) -> str:
    """A space in a mount point stands there in octal, behind a backslash."""
    return re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), text)
