"""The version that a run is submitted with, kept beside the run folders: once, for all that are submitted with it.

Supervisors, agents and takeovers of a run load it (`boot.py`), so that an upgrade in place reaches only jobs that are
submitted after it.
"""

import gzip
import hashlib
import os
import platform
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from supervisor.ledger.run_folder import kept_in
from supervisor.runtime.boot import PYTHON
from supervisor.runtime.pack import PACKAGE, files_of, own_files, tar_of, with_compiled
from supervisor.version import VERSION

_LEFT_OUT: Final = frozenset({"__pycache__", "cli", "doctor", "drill", "hooks"})
"""What persons and admins start: nothing that a job starts imports it."""
_THEIRS: Final = ("ahocorasick_rs", "aiomqtt", "msgspec", "paho", "psutil", "pynvml", "structlog")
"""What a supervisor loads at its start. Not cryptography and fsspec: large, and plugins for them must fit to theirs."""
_SPARED_S: Final = 3600.0
"""A submission names its copy before it has sent its job."""


def name() -> str:
    """Path of this installation's copy below the folder of run folders.

    Another one after each change of a file, and for each Python.
    """
    known = [(own_name, os.stat(path)) for own_name, path in sorted(_sources())]  # noqa: PTH116  # of 600: Path is slow
    told = "".join(f"{own_name} {facts.st_size} {facts.st_mtime_ns}\n" for own_name, facts in known)
    digest = hashlib.sha256(told.encode()).hexdigest()[:16]
    return str(kept_in(Path()) / f"{VERSION}-{PYTHON}-{digest}.tar.gz")


def keep(base: Path, name: str) -> None:
    """Have the copy beside the run folders in `base`. Raises `OSError`, and then leaves nothing behind."""
    path = base / name
    with suppress(FileNotFoundError):
        os.utime(path)  # it is in use again
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            content = tar_of(with_compiled(_sources(), Path(scratch)))
        fresh.write_bytes(gzip.compress(content, compresslevel=1, mtime=0))
        fresh.chmod(0o600)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        with suppress(OSError):  # others are in it
            path.parent.rmdir()
        raise


def unused(base: Path, used: Collection[str], *, now: float) -> list[Path]:
    """Copies beside the run folders in `base` that none of them names. Raises `OSError`."""
    try:
        found = sorted(kept_in(base).iterdir())
    except FileNotFoundError:
        return []
    return [
        path for path in found if str(path.relative_to(base)) not in used and now - path.lstat().st_mtime > _SPARED_S
    ]


def _sources() -> Iterator[tuple[str, str]]:
    rooms = sorted({Path(entry).stem for entry in os.listdir(PACKAGE)} - _LEFT_OUT)  # noqa: PTH208  # names
    yield from own_files(rooms, suffixes=())
    yield from files_of(_THEIRS)
