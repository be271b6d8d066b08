"""Incident records on disk: `incidents/NNN/verdict.json`, and `incidents.jsonl` for those of a long run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from supervisor.model.ids import IncidentNo
from supervisor.model.records import IncidentRecord

FOLDER: Final = "incidents"
VERDICT: Final = "verdict.json"
FEEDBACK: Final = "feedback.json"
"""A person's correction, beside the verdict (`feedback`)."""
COMPACTED: Final = "incidents.jsonl"
"""Records whose folder had to go (`bounds`), one per line; of two with the same number the later one counts."""


def incident_folder(run_folder: Path, incident: IncidentNo) -> Path:
    """Where the bundle and the verdict of one incident are kept."""
    return run_folder / FOLDER / f"{incident:03d}"


def record_path(run_folder: Path, incident: IncidentNo) -> Path:
    """The record itself."""
    return incident_folder(run_folder, incident) / VERDICT


def read_records(run_folder: Path) -> list[IncidentRecord]:
    """All readable records of a run, by number; one that cannot be read is left out."""
    found = {record.incident: record for record in _all(run_folder)}
    return [found[number] for number in sorted(found)]


def _all(run_folder: Path) -> Iterator[IncidentRecord]:
    """What has a folder of its own last: it is the newer one."""
    for lines in (_lines(run_folder / COMPACTED), _verdicts(run_folder / FOLDER)):
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=IncidentRecord)
            except msgspec.MsgspecError:
                continue


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError:
        return []


def _verdicts(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.glob(f"*/{VERDICT}")):
        try:
            yield path.read_bytes()
        except OSError:  # compacted at this moment, or unreadable
            continue
