"""Finds runs that went well: earlier attempts of this run, and other runs of the same name in the same folder."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from supervisor.core.events import Progressed
from supervisor.core.snapshot import Recorded
from supervisor.errors import NoSuchRun, RunFolderUnusable
from supervisor.ledger.event_log import FILE as EVENTS
from supervisor.ledger.event_log import read_events
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.run_folder import read_run
from supervisor.model.ids import AttemptNo, RunId
from supervisor.model.software import Software
from supervisor.model.status import RunStatus
from supervisor.report.view import FINISHED, STATUS

FILE: Final = "software.json"
_SUFFIX: Final = re.compile(r"-[0-9a-z]{5}(?:-\d+)?")
_FOLDERS: Final = 40
"""Of so many runs of this name, the newest, is looked at what became of them."""
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Good:
    """One that went well."""

    since: str
    software: Software


def good_runs(folder: Path, run: RunFile, attempt: AttemptNo) -> list[Good]:
    """Those whose software is on record: earlier attempts with progress, completed runs, runs with progress.

    Each kind the newest first. Raises `OSError` where this run's own folder cannot be read.
    """
    others = list(_others(folder, run))
    return [*_earlier(folder, attempt), *_of(others, is_completed=True), *_of(others, is_completed=False)]


def read_software(folder: Path, attempt: AttemptNo) -> Software | None:
    """What was recorded of this attempt; None where nothing was, or nothing readable."""
    try:
        return msgspec.json.decode((folder / "attempts" / f"{attempt:03d}" / FILE).read_bytes(), type=Software)
    except (OSError, msgspec.MsgspecError):
        return None


def job_name(run_id: RunId) -> str:
    """The job's name, which a run id begins with; tasks of an array have the same."""
    match = list(_SUFFIX.finditer(run_id))
    return run_id[: match[-1].start()] if match and match[-1].end() == len(run_id) else run_id


def _earlier(folder: Path, attempt: AttemptNo) -> Iterator[Good]:
    progressed = _progressed(read_events(folder / EVENTS))
    for number in sorted((one for one in progressed if one < attempt), reverse=True)[:_ATTEMPTS]:
        if software := read_software(folder, number):
            yield Good(f"attempt {number} (made progress)", software)


def _progressed(events: Sequence[Recorded]) -> set[AttemptNo]:
    return {event.attempt for event in events if isinstance(event, Progressed)}


def _others(folder: Path, run: RunFile) -> Iterator[tuple[Path, RunStatus]]:
    """Runs of the same name that were submitted in the same folder, with their last word; the newest first."""
    name = job_name(run.run_id)
    with os.scandir(folder.parent) as entries:
        same = [entry for entry in entries if entry.name != folder.name and job_name(RunId(entry.name)) == name]
    for entry in islice(sorted(same, key=_age), _FOLDERS):
        path = Path(entry.path)
        try:
            status = msgspec.json.decode((path / STATUS).read_bytes(), type=RunStatus)
            if read_run(path).workdir == run.workdir:
                yield path, status
        except (OSError, msgspec.MsgspecError, NoSuchRun, RunFolderUnusable):
            continue


def _age(entry: "os.DirEntry[str]") -> float:
    """Newest first; a run's folder changes when it ends."""
    try:
        return -entry.stat().st_mtime
    except OSError:
        return 0.0


def _of(others: Sequence[tuple[Path, RunStatus]], *, is_completed: bool) -> Iterator[Good]:
    for folder, status in others:
        has_completed = status.stage == FINISHED and status.exit_code == 0
        if has_completed is not is_completed or not (has_completed or status.step):
            continue
        if software := read_software(folder, status.attempt):
            named = f"job {status.job_id}" if status.job_id not in {"", "0"} else f"run {status.run_id}"
            yield Good(f"{named} ({'completed' if has_completed else 'made progress'})", software)
