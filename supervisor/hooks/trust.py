"""Whether a path is root's alone: nobody else can have written it, nor put another in its place."""

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_MOST_LINKS: Final = 20
_PRODUCT: Final = Path(__file__).resolve().parents[1]
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def complaint(path: str, *, owner: int = 0) -> str:
    """Why this path must not be trusted; empty: it may be. A path that does not exist is complained of, too."""
    return next(iter(complaints([path], owner=owner)), "")


def complaints(paths: Iterable[str], *, owner: int = 0) -> list[str]:
    """The complaints of several paths, each once."""
    good: set[str] = set()
    found = (_asked(path, owner, good) for path in dict.fromkeys(paths))
    return [text for text in found if text]


def own_files() -> list[str]:
    """The interpreter, all of this product, every file that this process has loaded code from, and what it may load."""
    found = [sys.executable]
    for module in list(sys.modules.values()):
        found += [path for name in ("__file__", "__cached__") if (path := getattr(module, name, None))]
    for folder, _, names in os.walk(_PRODUCT):
        found += [f"{folder}/{name}" for name in names]
    for folder in sys.path:
        # Python obeys the first kind at its start, also when it runs isolated; the reading of GPUs loads the second.
        found += [str(path) for pattern in ("*.pth", "pynvml.py") for path in Path(folder).glob(pattern)]
    # Compiled files need not be there, and modules of the interpreter itself have no file.
    return [path for path in found if path.startswith("/") and (not path.endswith(".pyc") or os.path.lexists(path))]


def _asked(path: str, owner: int, good: set[str]) -> str:
    try:
        return _walked(path, owner, good) if path.startswith("/") else f"{path}: not an absolute path"
    except OSError as exc:
        return f"{path}: {exc.strerror}"


def _walked(path: str, owner: int, good: set[str], links: int = 0) -> str:
    """Every folder on the way, and where links lead. Folders in `good` were looked at before: most files share them."""
    if links > _MOST_LINKS:
        return f"{path}: too many links"
    at, parts = "", [part for part in path.split("/") if part not in {"", "."}]
    for index, part in enumerate(parts):
        if at not in good:
            if wrong := _of_one(at or "/", owner, is_last=False):
                return wrong
            good.add(at)
        at = at.rpartition("/")[0] if part == ".." else f"{at}/{part}"
        if at and at not in good and stat.S_ISLNK((facts := os.lstat(at)).st_mode):
            if facts.st_uid not in {0, owner}:
                return f"{at} is a link of uid {facts.st_uid}"
            target = str(Path(at).readlink())
            rest = [target if target.startswith("/") else f"{at.rpartition('/')[0]}/{target}", *parts[index + 1 :]]
            return _walked("/".join(rest), owner, good, links + 1)
    return _of_one(at or "/", owner, is_last=True)


def _of_one(path: str, owner: int, *, is_last: bool) -> str:
    found = os.lstat(path)
    if found.st_uid not in {0, owner}:
        return f"{path} belongs to uid {found.st_uid}"
    # In a sticky folder only its owner can be put aside what lies there; what lies there is looked at next.
    is_sticky = stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX) and not is_last
    writers = found.st_mode & (_OTHERS_WRITE if found.st_gid else stat.S_IWOTH)
    if writers and not is_sticky:
        return f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):04o})"
    return ""
