"""What to type about an incident whose folder was given to `diagnose`: only for what lies in a run folder."""

from pathlib import Path

from supervisor.ledger.records import FOLDER, VERDICT
from supervisor.ledger.run_folder import RUN_FILE, job_ids


def how_to_correct(path: Path) -> str:
    """`supervise feedback 81234 2 --cause …` for a run folder or the folder of one incident; empty for all else."""
    name, number = _incident(path)
    return f"supervise feedback {name} {number} --cause …" if name else ""


def how_to_look(path: Path) -> str:
    """`supervise why 81234`, which tells of an incident also where no evidence was kept; empty where there is none."""
    name, _ = _incident(path)
    return f"supervise why {name}" if name else ""


def _incident(path: Path) -> tuple[str, int]:
    """How commands call the run, and the incident's number; an empty name where the path is nothing of the kind."""
    incident = path.absolute()
    if (incident / RUN_FILE).is_file():
        incident = max((one for one in (incident / FOLDER).glob("*") if one.is_dir()), default=incident)
    run = incident.parent.parent
    known = incident.parent.name == FOLDER and (run / RUN_FILE).is_file() and (incident / VERDICT).is_file()
    if not known or not incident.name.isdecimal():
        return "", 0
    jobs = [job for job in job_ids(run) if job != "0"]
    return (jobs[-1] if jobs else str(run)), int(incident.name)
