"""`standby.json`: the job that waits in the queue for another one of the run to fail."""

from pathlib import Path
from typing import Final

import msgspec

from supervisor.errors import RunFolderUnusable
from supervisor.ledger.whole_file import replace_file
from supervisor.model.base import Fact, encode
from supervisor.model.ids import JobId

STANDBY: Final = "standby.json"


class Standby(Fact, frozen=True, kw_only=True):
    """A job that Slurm starts once the other has failed, and removes once that has ended well."""

    job_id: JobId
    waits_for: JobId


def note_standby(folder: Path, standby: Standby) -> None:
    """Raises `RunFolderUnusable`."""
    try:
        replace_file(folder / STANDBY, encode(standby))
    except OSError as exc:
        raise RunFolderUnusable(f"{folder / STANDBY} cannot be written: {exc.strerror}") from exc


def read_standby(folder: Path) -> Standby | None:
    """None: there is none, or nobody can say which."""
    try:
        return msgspec.json.decode((folder / STANDBY).read_bytes(), type=Standby)
    except (OSError, msgspec.MsgspecError):
        return None


def standby_of(folder: Path, job: JobId) -> JobId | None:
    """The job that waits for this one to fail."""
    found = read_standby(folder)
    return found.job_id if found is not None and found.waits_for == job else None
