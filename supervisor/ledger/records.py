"""Incident records on disk: `incidents/NNN/verdict.json`."""

from pathlib import Path

import msgspec

from supervisor.model.ids import IncidentNo
from supervisor.model.records import IncidentRecord


def incident_folder(run_folder: Path, incident: IncidentNo) -> Path:
    """Where the bundle and the verdict of one incident are kept."""
    return run_folder / "incidents" / f"{incident:03d}"


def record_path(run_folder: Path, incident: IncidentNo) -> Path:
    """The record itself."""
    return incident_folder(run_folder, incident) / "verdict.json"


def read_records(run_folder: Path) -> list[IncidentRecord]:
    """All readable records of a run, by number; one that cannot be read is left out."""
    found = []
    for path in sorted((run_folder / "incidents").glob("*/verdict.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=IncidentRecord))
        except (OSError, msgspec.MsgspecError):
            continue
    return found
