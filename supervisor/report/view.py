"""One look at a run folder: all that the texts are made from."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from supervisor.errors import PayloadRefused
from supervisor.ledger.feedback import Feedback, read_feedback
from supervisor.ledger.records import incident_folder, read_records
from supervisor.ledger.run_file import RunFile, parse_run
from supervisor.ledger.run_folder import RUN_FILE, job_ids, read_run, submissions
from supervisor.model.ids import IncidentNo, JobId, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.status import RunStatus
from supervisor.model.verdict import Class
from supervisor.report.unbegun import SlurmsWord

STATUS: Final = "status.json"
LOG: Final = "events.jsonl"
FINISHED: Final = "finished"
"""The stage after which the status is not written again."""
PREEMPTION: Final = "preemption"
"""The planned cause after which Slurm may start the job again, whoever was asked to."""
RUNNING: Final = "running"
"""The stage in which ranks make steps."""
SILENT_AFTER_S: Final = 15.0
"""The supervisor writes every 5 s: three times missed is a silence."""
_SETTLED_S: Final = 120.0
"""So long after a start or an incident the pace of the steps is known, unless none are made."""
_NO_SLURM: Final = JobId("0")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as its folder shows it at one moment."""

    folder: Path
    run: RunFile
    status: RunStatus | None
    """None: no supervisor has written yet."""
    records: tuple[IncidentRecord, ...]
    """By number, planned ends included."""
    jobs: tuple[JobId, ...]
    """Oldest first; empty on a machine without Slurm."""
    feedback: dict[IncidentNo, Feedback] = field(default_factory=dict)
    """What persons have corrected."""
    is_array: bool = False
    """The folder of a whole array: its tasks are the runs."""
    cluster: str = ""
    """Where the last submission went, if sbatch named a cluster."""
    slurm: SlurmsWord | None = None
    """Slurm's word on `expected_job`; None: it was not asked, or gave no answer."""

    @property
    def interruptions(self) -> tuple[IncidentRecord, ...]:
        """What interrupted the run: ends that were planned or wanted are none."""
        return tuple(record for record in self.records if record.verdict.cls is not Class.PLANNED)

    @property
    def planned(self) -> tuple[IncidentRecord, ...]:
        """Time limits, preemptions, cancels."""
        return tuple(record for record in self.records if record.verdict.cls is Class.PLANNED)

    @property
    def job_id(self) -> JobId:
        """The job that works, or last worked, on the run; empty without Slurm and where none is known."""
        if self.status is not None and self.status.job_id != _NO_SLURM:
            return self.status.job_id
        return self.jobs[-1] if self.jobs else JobId("")

    @property
    def expected_job(self) -> JobId:
        """The job that the run waits for: only Slurm knows whether it will ever begin. Empty: it waits for none."""
        status = self.status
        if status is None:
            return self.job_id
        if status.stage != FINISHED:
            return JobId("")
        if status.successor is not None:
            return status.successor
        last = self.records[-1] if self.records else None
        if last is None or last.attempt < status.attempt:
            return JobId("")
        # What preempts may start the job again by itself: the supervisor that was ended with it cannot tell.
        is_requeued = last.action == "requeue" or last.verdict.cause == PREEMPTION
        return self.job_id if is_requeued else JobId("")

    @property
    def log(self) -> str:
        """Where everything that happened stands."""
        return str(self.folder / LOG)

    @property
    def evidence(self) -> str:
        """Folder of the last interruption, which keeps its evidence the longest; empty: there was none."""
        return str(incident_folder(self.folder, self.interruptions[-1].incident)) if self.interruptions else ""

    @property
    def is_without_new_step(self) -> bool:
        """The ranks run and beat, and the last status knows no step that was made in the minute before it."""
        status = self.status
        if status is None or (status.stage, status.step_s) != (RUNNING, None) or status.step is None:
            return False
        begun_at = max([status.began_at, *(record.opened_at for record in self.records)])
        return status.updated_at - begun_at > _SETTLED_S

    def silent_s(self, now: float) -> float | None:
        """How long the supervisor of a living run has not written, where that is too long."""
        if self.status is None or self.status.stage == FINISHED:
            return None
        age = now - self.status.updated_at
        return age if age > SILENT_AFTER_S else None


def read_view(folder: Path) -> RunView:
    """The run in this folder. Raises `NoSuchRun` or `RunFolderUnusable`; an unreadable status counts as none."""
    run = read_run(folder)
    return RunView(
        folder=folder,
        run=run,
        status=_read_status(folder),
        records=tuple(read_records(folder)),
        jobs=_jobs(folder, run),
        feedback=read_feedback(folder),
        is_array=bool(run.array) and _is_named_by(folder, run.run_id),
        cluster=next((one.cluster for one in reversed(submissions(folder)) if one.cluster), ""),
    )


def task_folders(view: RunView) -> list[Path]:
    """The run folders of an array's tasks that have begun, by task number."""
    pattern = re.compile(re.escape(view.folder.name) + r"-(\d+)")
    found = [(match, path) for path in view.folder.parent.iterdir() if (match := pattern.fullmatch(path.name))]
    begun = [(int(match[1]), path) for match, path in found if (path / RUN_FILE).is_file()]
    return [path for _, path in sorted(begun)]


def full(value: Any) -> Any:
    """Facts as built-in types with every field, also those that have their default: answers name all they can hold."""
    if isinstance(value, msgspec.Struct):
        return {name: full(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return [full(item) for item in value]
    return msgspec.to_builtins(value)


def _jobs(folder: Path, run: RunFile) -> tuple[JobId, ...]:
    """The run's jobs. A task of an array whose supervisor has not written yet is known by the array's job."""
    own = tuple(job for job in job_ids(folder) if job != _NO_SLURM)
    array, _, task = folder.name.rpartition("-")
    if own or not run.array or not task.isdecimal() or _is_named_by(folder, run.run_id):
        return own
    return tuple(JobId(f"{job}_{task}") for job in job_ids(folder.with_name(array))[-1:])


def _is_named_by(folder: Path, run_id: RunId) -> bool:
    """The file names this very run: a task's folder holds a copy of the array's file."""
    try:
        return parse_run((folder / RUN_FILE).read_bytes()).run_id == run_id
    except (OSError, PayloadRefused):
        return False


def _read_status(folder: Path) -> RunStatus | None:
    try:
        return msgspec.json.decode((folder / STATUS).read_bytes(), type=RunStatus)
    except (OSError, msgspec.MsgspecError):
        return None
