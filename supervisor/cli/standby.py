"""The standby of a job that was just submitted: queued from here, since some sites forbid sbatch on nodes."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from supervisor.errors import SlurmFailed, SuperviseError
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.standby import Standby, note_standby
from supervisor.model.ids import JobId
from supervisor.slurm.standby import waiting_for
from supervisor.slurm.submit import SBATCH_LIMIT_S, accepted_job
from supervisor.slurm.successor import Circumstances, Successor, successor


def queue_standby(run: RunFile, folder: str, job: JobId, env: Mapping[str, str]) -> str:
    """Queue it and note it; one sentence for the user. The job that is in already is not touched by a failure."""
    if run.array or run.settings.mode == "observe":
        why = "each task of an array would need one" if run.array else "mode observe starts nothing"
        return f"WARNING: no standby: {why}"
    try:
        at = Circumstances(env=env, script=run.script_text)
        wanted = waiting_for(job, successor(run, folder, exclude=(), spares=run.settings.spares, at=at))
        if wanted.files:
            return "WARNING: no standby: a line of the script (--begin, --hold, ...) must not hold for it"
        standby = _sent(wanted)
        note_standby(Path(folder), Standby(job_id=standby, waits_for=job))
    except (OSError, subprocess.SubprocessError, SuperviseError) as exc:
        return f"WARNING: no standby: {exc}"
    return f"Standby: job {standby} waits in the queue and begins only if job {job} fails."


def _sent(wanted: Successor) -> JobId:
    """Raises `SlurmFailed` with sbatch's words, and what `subprocess.run` raises."""
    answer = subprocess.run(
        wanted.argv,
        env=wanted.environment,
        cwd=wanted.cwd,
        capture_output=True,
        timeout=SBATCH_LIMIT_S,
        check=False,
    )
    standby, _ = accepted_job(answer.stdout)
    if not standby:
        words = " ".join(answer.stderr.decode(errors="replace").split())
        raise SlurmFailed(f"sbatch refuses ({words[:300]})")
    return standby
