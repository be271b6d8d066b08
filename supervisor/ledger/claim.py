"""Which job works on a run: `jobs/<jobid>.json`, made by `link()` so that only one can have made it."""

import os
from contextlib import suppress
from pathlib import Path

from supervisor.model.base import Fact, encode
from supervisor.model.ids import JobId


class Claim(Fact, frozen=True, kw_only=True):
    """One job's word that it works on the run."""

    job_id: JobId
    at: float
    restarts: int = 0
    host: str = ""


def claim(run_folder: Path, wanted: Claim) -> bool:
    """Whether this claim is the first one of its job; locks are made by `link()`, which every filesystem honours.

    Raises `OSError` where the folder cannot be written, and then leaves no claim behind.
    """
    path = run_folder / "jobs" / f"{wanted.job_id}.json"
    if path.exists():  # where the folder is full or read-only by now, nothing needs to be written
        return False
    path.parent.mkdir(mode=0o700, exist_ok=True)
    return is_made(path, encode(wanted))


def is_made(path: Path, data: bytes) -> bool:
    """Whether this call made the file, whole and with this content; of several at once, from any node, one has.

    Raises `OSError` where its folder cannot be written, and then leaves nothing behind.
    """
    # Process numbers repeat from node to node and from container to container.
    draft = path.with_name(f".{path.stem}.{int.from_bytes(os.urandom(8), 'big')}")
    try:
        draft.write_bytes(data)
        return _link(draft, path)
    finally:
        with suppress(OSError):
            draft.unlink()


def _link(draft: Path, path: Path) -> bool:
    try:
        os.link(draft, path)
    except FileExistsError:
        # NFS says so too when its answer to the first try was lost: then the claim is this very file.
        return path.exists() and path.samefile(draft)
    except OSError:  # a filesystem without hard links: exclusive creation is the next best
        return _create(path, draft.read_bytes())
    return True


def _create(path: Path, data: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True
