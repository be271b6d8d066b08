"""A file that is written whole or not at all, whoever reads it meanwhile."""

import os
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """Write the file whole or not at all. Raises `OSError` and leaves the old content then."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
