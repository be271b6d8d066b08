"""A file that other processes append to, within a size: emptied under their hands, its last part kept beside it."""

import os
from pathlib import Path

from supervisor.ledger.run_folder import append_line
from supervisor.ledger.whole_file import replace_file


def cut(path: Path, *, limit_bytes: int) -> bool:
    """Whether the file was too large, and its last `limit_bytes` moved to `<name>.1`, in place of what was there.

    For writers with O_APPEND only; what they write in that moment may be lost. For the writer's thread: it blocks.
    Raises `OSError`, and loses nothing then.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return False
    if size <= limit_bytes:
        return False
    with path.open("rb") as file:
        file.seek(size - limit_bytes)
        older = file.read(limit_bytes)
    beside = path.with_name(f"{path.name}.1")
    replace_file(beside, older)
    os.truncate(path, 0)
    append_line(
        path, f"supervise: {path.name} begins anew at {size} bytes; see {beside.name} for the part before".encode()
    )
    return True
