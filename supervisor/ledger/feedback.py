"""A person's correction of a verdict: `incidents/NNN/feedback.json`, beside the verdict and never in place of it."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from supervisor.errors import RunFolderUnusable
from supervisor.ledger.records import FEEDBACK, FOLDER, incident_folder
from supervisor.ledger.whole_file import replace_file
from supervisor.model.base import Fact, encode
from supervisor.model.ids import IncidentNo, NodeName
from supervisor.model.verdict import Class

SCHEMA: Final = 1


class Feedback(Fact, frozen=True, kw_only=True):
    """What it really was, as a person says."""

    schema: int = SCHEMA
    at: float
    version: str
    """Of the program that wrote it."""
    cause: str
    """A cause of the taxonomy."""
    cls: Class
    nodes: tuple[NodeName, ...] = ()
    """Who was to blame; empty: the person did not say."""
    note: str = ""
    was: str = ""
    """The verdict that is corrected, `class/cause`."""


def write_feedback(run_folder: Path, incident: IncidentNo, feedback: Feedback) -> Path:
    """Keep the correction (a later one replaces it), whole or not at all; returns its file.

    Raises `RunFolderUnusable` where it cannot be written.
    """
    path = incident_folder(run_folder, incident) / FEEDBACK
    try:
        replace_file(path, encode(feedback) + b"\n")
    except OSError as exc:
        raise RunFolderUnusable(f"{path} cannot be written: {exc.strerror}; nothing was changed") from exc
    return path


def read_feedback(run_folder: Path) -> dict[IncidentNo, Feedback]:
    """The corrections of a run; one that is unreadable, or of a newer schema, is left out."""
    found: dict[IncidentNo, Feedback] = {}
    for path in sorted((run_folder / FOLDER).glob(f"*/{FEEDBACK}")):
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            feedback = msgspec.json.decode(path.read_bytes(), type=Feedback)
            if feedback.schema <= SCHEMA:
                found[IncidentNo(int(path.parent.name))] = feedback
    return found
