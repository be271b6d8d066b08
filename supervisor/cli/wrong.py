"""What to type where a verdict is not true: only for evidence that lies in a run folder."""

from pathlib import Path

from supervisor.ledger.records import FOLDER, VERDICT
from supervisor.ledger.run_folder import RUN_FILE, job_ids


def how_to_correct(path: Path) -> str:
    """`supervise feedback 81234 2 --cause …` for a run folder or the folder of one incident; empty for all else."""
    incident = path.absolute()
    if (incident / RUN_FILE).is_file():
        incident = max((one for one in (incident / FOLDER).glob("*") if one.is_dir()), default=incident)
    run = incident.parent.parent
    known = incident.parent.name == FOLDER and (run / RUN_FILE).is_file() and (incident / VERDICT).is_file()
    if not known or not incident.name.isdecimal():
        return ""
    jobs = [job for job in job_ids(run) if job != "0"]
    return f"supervise feedback {jobs[-1] if jobs else run} {int(incident.name)} --cause …"
