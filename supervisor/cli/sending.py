"""Sending a supervised job: sbatch's answer, what is noted of it, what is promised, and the folder of a refused one."""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from supervisor.cli.answer import json_answer
from supervisor.cli.checkpoint_look import CheckpointLook
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.options import GlobalOptions
from supervisor.cli.promise import promise
from supervisor.cli.standby import queue_standby
from supervisor.errors import RunFolderUnusable, SlurmFailed, SuperviseError
from supervisor.ledger.find_run import IndexLine, note_run
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.run_folder import SubmissionRecord, discard, note_submission
from supervisor.model.ids import JobId
from supervisor.slurm.submission import Submission
from supervisor.slurm.submit import SBATCH_LIMIT_S, Outcome, accepted_job, find_lost, sbatch_environment, send

_NOT_KNOWN: Final = JobId("")
_SILENT: Final = ("parsable", "quiet")
"""sbatch's options of a caller that wants no words."""


@dataclass(slots=True, kw_only=True)
class Sending:
    """One supervised submission under way."""

    given: GlobalOptions
    submission: Submission
    run: RunFile
    options: Mapping[str, str]
    """What sbatch obeys."""
    _said: bytearray = field(default_factory=bytearray)
    _job_id: JobId = _NOT_KNOWN
    _cluster: str = ""
    _look: CheckpointLook | None = None

    def carry_out(self) -> int:
        """Submit; the exit code is sbatch's. A refused submission leaves no run folder."""
        self._look = self._begin_look()
        try:
            outcome = self._send()
            code = self._settled(outcome)
        finally:
            if self._look is not None:
                self._look.close()
        if self.given.json:
            print(self._json(outcome, code))
        return code

    @property
    def _folder(self) -> Path:
        return Path(self.submission.folder)

    @property
    def _is_quiet(self) -> bool:
        return self.given.quiet or self.given.json or any(name in self.options for name in _SILENT)

    def _begin_look(self) -> CheckpointLook | None:
        url = self.run.settings.checkpoint
        if not url or self._is_quiet:
            return None
        with suppress(OSError):
            return CheckpointLook(url)
        return None

    def _send(self) -> Outcome:
        """Raises what `send` raises, and then leaves no run folder."""
        fd = self.options.get("export-file", "")
        try:
            return send(
                self.submission.argv,
                env=sbatch_environment(self.submission.unset),
                out=self._hear,
                err=self._pass_on_error,
                limit_s=None if "wait" in self.options else SBATCH_LIMIT_S,
                fds=[int(fd)] if fd.isdecimal() else [],
            )
        except SuperviseError:
            discard(self._folder)
            raise

    def _hear(self, data: bytes) -> None:
        """Pass sbatch's words on, and act on the one that matters at once: with `--wait` the rest takes hours."""
        self._said += data
        if not self.given.json:
            _write(sys.stdout.buffer, data)
        if not self._job_id:
            self._job_id, self._cluster = accepted_job(bytes(self._said))
            if self._job_id:
                self._accepted()

    def _pass_on_error(self, data: bytes) -> None:
        if not self.given.json:
            _write(sys.stderr.buffer, data)

    def _accepted(self) -> None:
        notes = [reason for reason in self.submission.reasons if reason.startswith("#SUPERVISE")]
        try:
            record = SubmissionRecord(at=time.time(), job_id=self._job_id, cluster=self._cluster)
            note_submission(self._folder, record)
        except RunFolderUnusable as exc:
            notes.append(f"WARNING: {exc}; the job runs, but supervision may fail")
        run = self.run
        if run.settings.standby:
            env = sbatch_environment(self.submission.unset)
            notes.append(queue_standby(run, self.submission.folder, self._job_id, env))
        note_run(IndexLine(run_id=run.run_id, folder=self.submission.folder, job_id=self._job_id), self._home())
        if not self._is_quiet:
            checkpoints = self._look.sentence() if self._look else ""
            _tell(promise(run, job_id=self._job_id, checkpoints=checkpoints, notes=notes))

    def _home(self) -> Mapping[str, str]:
        return sbatch_environment(())

    def _settled(self, outcome: Outcome) -> int:
        """What became of it; sees to the cases in which sbatch gave no job id."""
        if self._job_id:
            return outcome.code
        if outcome.may_have_submitted:
            return self._search(outcome)
        if outcome.code == 0:  # `sbatch --quiet` says nothing
            note_run(IndexLine(run_id=self.run.run_id, folder=self.submission.folder), self._home())
            return 0
        discard(self._folder)
        return outcome.code

    def _search(self, outcome: Outcome) -> int:
        """An sbatch that was not answered may have submitted all the same."""
        code = outcome.code or ExitCode.FAILED
        try:
            found = find_lost(self._folder, cluster=self.options.get("clusters", ""))
        except SlurmFailed as exc:
            _tell(
                f"supervise: sbatch was not answered, and {exc}. Before you submit again, look with squeue --me "
                f"whether a job runs whose command is in {self._folder}"
            )
            return code
        if found is None:
            _tell("supervise: sbatch was not answered and no job of this submission is in the queue; submit again")
            discard(self._folder)
            return code
        _tell(f"supervise: sbatch was not answered, but the job is in the queue as {found}; do not submit it again")
        self._hear(f"{'' if 'parsable' in self.options else 'Submitted batch job '}{found}\n".encode())
        return 0

    def _json(self, outcome: Outcome, code: int) -> str:
        words = outcome.stderr.decode(errors="replace").strip()
        is_in = bool(self._job_id) or code == 0
        return json_answer(
            conclusion=f"Submitted job {self._job_id} as run {self.run.run_id}." if is_in else "Nothing was submitted.",
            blockers=[] if is_in else words.splitlines() or [f"sbatch ended with exit code {code}"],
            job_id=self._job_id,
            run_id=self.run.run_id if is_in else "",
            cluster=self._cluster,
            log=f"{self.submission.folder}/events.jsonl" if is_in else "",
            ends_with=code,
            sbatch={"code": code, "stdout": outcome.stdout.decode(errors="replace"), "stderr": words},
        )


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _write(stream: BinaryIO, data: bytes) -> None:
    """At once; a reader that is gone does not keep the job from being noted."""
    with suppress(BrokenPipeError):
        stream.write(data)
        stream.flush()
