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

    Raises `OSError` where the folder cannot be written.
    """
    folder = run_folder / "jobs"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{wanted.job_id}.json"
    draft = folder / f".{wanted.job_id}.{os.getpid()}"
    draft.write_bytes(encode(wanted))
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:  # a filesystem without hard links: exclusive creation is the next best
        return _create(path, encode(wanted))
    finally:
        with suppress(OSError):
            draft.unlink()
    return True


def _create(path: Path, data: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return True
