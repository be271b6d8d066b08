"""A new file that only its owner can read, never through a link and never over another one."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from supervisor.errors import UsageError

_FRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o600


def write_new(path: Path, data: bytes) -> None:
    """Write the file whole, or raise `UsageError` and leave nothing of it."""
    try:
        opened = os.open(path, _FRESH, _MODE)
    except FileExistsError:
        raise UsageError(f"{path} exists already; evidence is not written over: name another file") from None
    except OSError as exc:
        raise UsageError(f"{path} cannot be written: {exc.strerror}") from exc
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(opened)
    except OSError as exc:
        with suppress(OSError):
            path.unlink()
        raise UsageError(f"{path} cannot be written: {exc.strerror}") from exc
