"""Sends the test job through the user's own sbatch under supervision, waits with deadlines, and leaves nothing behind.

It has a folder of its own below the run folders' place; job and folder are gone when this returns, but for the folder
of a job that failed.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from supervisor.doctor.job import answers
from supervisor.doctor.job.answers import AfterLook, Ask, AttemptLook, Done, JobOutcome, MemoryTry, NodeLook
from supervisor.errors import NoSlurm, RunFolderUnusable, SlurmFailed
from supervisor.ledger.run_folder import discard
from supervisor.model.ids import JobId
from supervisor.model.records import IncidentRecord
from supervisor.model.status import RunStatus
from supervisor.slurm import commands, parse
from supervisor.slurm.guard import quote
from supervisor.slurm.process import CallCount, run
from supervisor.slurm.waiting import FOR_EVER, LIVING, LONGEST_PAUSE_S

SUBMIT_S: Final = 120.0
PATIENCE_S: Final = 300.0
"""How long the job may wait in the queue, if the user says nothing else."""
RUN_S: Final = 120.0
"""From the first sign of the script to the end of the job, its two minutes of time limit."""
_T = TypeVar("_T", bound=msgspec.Struct)
_ASK_S: Final = 10.0
_ASK_EVERY_S: Final = 10.0
_LOOK_EVERY_S: Final = 0.5
_END_S: Final = 20.0
_ASK_END_EVERY_S: Final = 2.0
_QUEUED: Final = frozenset({"PENDING", "CONFIGURING"})
# One fault, one restart; nothing of the user's run settings, no line in the site's ledger, no word to anybody.
_SETTINGS: Final = (
    "--mode=act",
    "--spares=0",
    "--checkpoint=",
    "--ledger=",
    "--notify=",
    "--min-nodes=0",
    "--max-restarts=1",
    "--max-lost-share=1",
    "--on-rank-exit=any",
)


class TestJob:
    """One test job, from its folder to its end."""

    __test__ = False  # pytest would otherwise take the name for a test class

    def __init__(
        self, base: Path, options: Sequence[str], *, nodes: int, ports: tuple[int, int], env: Mapping[str, str]
    ) -> None:
        self.name = f"supervise-doctor-{os.urandom(4).hex()}"
        self.folder = base / self.name
        self.options = tuple(options)
        self.nodes = nodes
        self._ports = ports
        self._env = env
        self._slurm_env = commands.clean_environment(env)
        self._count = CallCount()
        self._job = ""
        self._state = ""
        self._reason = ""

    async def carried_out(self, patience_s: float) -> JobOutcome:
        """What came of it. Raises `RunFolderUnusable` where its folder cannot be made."""
        began = time.monotonic()
        self._make_folder()
        outcome = JobOutcome()
        try:
            refused = await self._submitted()
            if not refused:
                await self._waited(patience_s)
            outcome = self._gathered(refused, time.monotonic() - began)
        finally:
            await asyncio.shield(self._cancel())
            if outcome.has_broken_off:
                outcome = msgspec.structs.replace(outcome, kept=str(self.folder))
            else:
                self._remove()
        return msgspec.structs.replace(outcome, calls=self._count.total)

    def _make_folder(self) -> None:
        script = f"#!/bin/sh\n{quote(sys.executable)} -I -m supervisor.doctor.job.inside {quote(str(self.folder))}\n"
        try:
            self.folder.mkdir(mode=0o700, parents=True)
            (self.folder / "test.sh").write_text(script, encoding="utf-8")
            ask = Ask(options=self.options, first_port=self._ports[0], last_port=self._ports[1])
            answers.write(self.folder, answers.ASK, ask)
        except OSError as exc:
            raise RunFolderUnusable(f"{self.folder} cannot be made for the test job: {exc.strerror}") from exc

    def _argv(self) -> list[str]:
        ours = ["-N", str(self.nodes), "--ntasks-per-node=1", "-t", "2"]
        fixed = ["-J", self.name, "-o", f"{self.folder}/output.txt", "--no-requeue"]
        script = [*ours, *self.options, *fixed, f"{self.folder}/test.sh"]
        return [sys.executable, "-I", "-m", "supervisor.cli.main", "--json", *_SETTINGS, "sbatch", *script]

    async def _submitted(self) -> str:
        """Why it was not; empty: it was."""
        env = {**self._env, "SUPERVISE_HOME": f"{self.folder}/runs", "XDG_STATE_HOME": f"{self.folder}/state"}
        try:
            answer = await run(self._argv(), deadline_s=SUBMIT_S, env=env, count=self._count)
        except (SlurmFailed, NoSlurm) as exc:
            return str(exc)
        with suppress(ValueError):
            told = json.loads(answer.stdout)
            self._job = told["job_id"]
            return "" if self._job else " ".join(told["blockers"]) or "sbatch gave no job id"
        return " ".join(answer.stderr.split())[:300] or f"sbatch ended with exit code {answer.code}"

    async def _waited(self, patience_s: float) -> None:
        """Until the script has ended and the job too, or for as long as it may take."""
        end, asked = time.monotonic() + patience_s, time.monotonic()
        has_begun, pause_s = False, _ASK_EVERY_S
        while time.monotonic() < end:
            if (self.folder / answers.DONE).exists():
                await self._wait_end()
                return
            if not has_begun and (self.folder / answers.ATTEMPT).exists():
                has_begun, end, pause_s = True, time.monotonic() + RUN_S, _ASK_EVERY_S
            if time.monotonic() - asked > pause_s:
                asked, pause_s = time.monotonic(), min(2 * pause_s, LONGEST_PAUSE_S)
                if not await self._is_living() or self._reason.startswith(FOR_EVER):
                    return
            await asyncio.sleep(_LOOK_EVERY_S)
        await self._is_living()

    async def _wait_end(self) -> None:
        end = time.monotonic() + _END_S
        while time.monotonic() < end and await self._is_living():  # noqa: ASYNC110  # Slurm tells no event
            await asyncio.sleep(_ASK_END_EVERY_S)

    async def _is_living(self) -> bool:
        """Where Slurm gives no answer the job lives, for all that we know."""
        job = JobId(self._job)
        try:
            answer = await run(commands.show_job(job), deadline_s=_ASK_S, env=self._slurm_env, count=self._count)
            found = parse.parse_job(answer.checked().stdout, job)
        except (SlurmFailed, NoSlurm, ValueError):
            return True
        self._state, self._reason = found.state, found.reason
        return found.state in LIVING

    async def _cancel(self) -> None:
        """By its name, which is nobody else's: a job that went on in its place ends, too."""
        argv = ["scancel", "--me", f"--name={self.name}"]
        with suppress(SlurmFailed, NoSlurm):
            await run(argv, deadline_s=_ASK_S, env=self._slurm_env, count=self._count)
        if self._job:
            await self._wait_end()

    def _gathered(self, refused: str, took_s: float) -> JobOutcome:
        here = self.folder
        attempt = answers.read(here, answers.ATTEMPT, AttemptLook)
        done = answers.read(here, answers.DONE, Done)
        runs = here / "runs"
        status = next(iter(_all(runs, "*/status.json", RunStatus)), None)
        incident = next(iter(_all(runs, "*/incidents/001/verdict.json", IncidentRecord)), None)
        has_waited = attempt is None and self._state in _QUEUED
        return JobOutcome(
            job_id=self._job,
            refused=refused,
            pended=self._reason if has_waited else "",
            state=self._state,
            output=_last_line(here / "output.txt"),
            took_s=round(took_s, 1),
            attempt=attempt,
            looks=answers.read_all(here, "node-", NodeLook),
            afters=answers.read_all(here, "after-", AfterLook),
            memory=answers.read(here, answers.MEMORY, MemoryTry),
            submits=done.submits if done is not None else None,
            transport=status.transport if status is not None else "",
            nodes_up=status.nodes_up if status is not None else 0,
            recovery_s=incident.recovery_s if incident is not None else None,
        )

    def _remove(self) -> None:
        discard(self.folder)
        with suppress(OSError):  # not ours alone, if anything is in it
            self.folder.parent.rmdir()


def _all(folder: Path, pattern: str, kind: type[_T]) -> list[_T]:
    found = []
    for path in sorted(folder.glob(pattern)):
        with suppress(OSError, msgspec.MsgspecError):
            found.append(msgspec.json.decode(path.read_bytes(), type=kind))
    return found


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
