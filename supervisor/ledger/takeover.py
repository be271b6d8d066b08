"""`takeovers/`: which agent goes on with the run of a job whose batch host is dead, and how far it has come."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from supervisor.ledger.claim import is_made
from supervisor.ledger.whole_file import replace_file
from supervisor.model.base import encode
from supervisor.model.ids import JobId
from supervisor.model.takeover import Takeover

FOLDER: Final = "takeovers"


def claim_takeover(run_folder: Path, wanted: Takeover) -> bool:
    """Whether this claim is the only one. Raises `OSError` where the folder cannot be written."""
    path = _path(run_folder, wanted.job_id, wanted.restarts)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    return is_made(path, encode(wanted))


def note_takeover(run_folder: Path, takeover: Takeover) -> None:
    """How far it has come; only for the one who has claimed it. Raises `OSError`."""
    replace_file(_path(run_folder, takeover.job_id, takeover.restarts), encode(takeover))


def read_takeover(run_folder: Path, job: JobId, restarts: int) -> Takeover | None:
    """The claim on this start of the job; None: there is none. Raises `OSError` where nobody can say."""
    try:
        return msgspec.json.decode(_path(run_folder, job, restarts).read_bytes(), type=Takeover)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as exc:
        raise OSError(f"the claim on job {job} cannot be read: {exc}") from exc


def takeovers(run_folder: Path) -> list[Takeover]:
    """All of the run, oldest first; what cannot be read is left out."""
    found = []
    for path in (run_folder / FOLDER).glob("[!.]*.json"):
        with suppress(OSError, msgspec.MsgspecError):
            found.append(msgspec.json.decode(path.read_bytes(), type=Takeover))
    return sorted(found, key=lambda each: each.at)


def _path(run_folder: Path, job: JobId, restarts: int) -> Path:
    return run_folder / FOLDER / f"{job}.{restarts}.json"
