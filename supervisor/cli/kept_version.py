"""Before a run begins: the version that it is supervised by is kept for as long as the run needs it."""

import sys
from pathlib import Path

from supervisor.runtime import kept


def version_name() -> str:
    """Where the run will find it; empty where this installation cannot be read, as amid an upgrade."""
    try:
        return kept.name()
    except OSError as exc:
        _tell(exc)
        return ""


def keep_version(run_folder: Path, name: str) -> None:
    """Have it beside the run folder. Where that cannot be done the run is supervised all the same, and it is told."""
    if not name:
        return
    try:
        kept.keep(run_folder.parent, name)
    except OSError as exc:
        _tell(exc)


def _tell(exc: OSError) -> None:
    why = exc.strerror or exc
    words = f"this version cannot be kept for the run ({why}): an upgrade before its end will reach it"
    print(f"supervise: WARNING: {words}", file=sys.stderr)
