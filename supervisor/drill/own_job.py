"""The drill's own job: its folder, its submission through the user's own sbatch, and its end, whatever happens."""

import asyncio
import json
import os
import shutil
import sys
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from supervisor.drill import trainer
from supervisor.drill.judge import SAVE_EVERY
from supervisor.errors import DrillStopped, NoSlurm, RunFolderUnusable, SlurmFailed
from supervisor.ledger.run_folder import FOLDER
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId, RunId
from supervisor.slurm import commands, parse
from supervisor.slurm.guard import quote
from supervisor.slurm.process import CallCount, run
from supervisor.slurm.waiting import LIVING

SUBMIT_S: Final = 120.0
_ASK_S: Final = 10.0
_END_S: Final = 20.0
_ASK_END_EVERY_S: Final = 2.0
SETTINGS: Final = (
    "--mode=act",
    "--spares=0",
    "--ledger=",
    "--notify=",
    "--min-nodes=0",
    "--max-restarts=100",
    "--max-restarts-without-progress=3",
    "--max-lost-share=1",
    "--on-rank-exit=stalled",
    "--policy=",
    "--skip-data=true",
)
"""What is drilled is the product, not the user's budgets; no line in the site's ledger, no word to anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """A run of the drill's own, as it was submitted."""

    run_id: RunId
    job_id: JobId
    folder: Path


@dataclass(slots=True, kw_only=True)
class OwnJobs:
    """All jobs of one drill; they share a folder and a name that is nobody else's."""

    folder: Path
    options: tuple[str, ...]
    """The user's, for sbatch."""
    nodes: int
    minutes: int
    """Time limit of a job."""
    env: Mapping[str, str]
    count: CallCount
    submitted: list[JobId] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of the jobs."""
        return f"supervise-{self.folder.name}"

    @property
    def train(self) -> Path:
        """The trainer's folder: checkpoints, data, orders."""
        return self.folder / "train"

    def lay_out(self) -> None:
        """Make the folder with all that the trainer needs. Raises `RunFolderUnusable`."""
        body = "\n".join(map(str, range(64)))
        step = f"srun {quote(sys.executable)} {quote(str(self.train / 'trainer.py'))} {quote(str(self.train))}"
        try:
            for name in ("checkpoints", "data"):
                (self.train / name).mkdir(mode=0o700, parents=True)
            shutil.copyfile(trainer.__file__, self.train / "trainer.py")
            (self.train / "data" / "shard-000.txt").write_text(f"{zlib.crc32(body.encode())}\n{body}")
            (self.folder / "drill.sh").write_text(f"#!/bin/sh\n{step} --save-every {SAVE_EVERY}\n")
            if self.folder.parent.name == FOLDER and not (ignore := self.folder.parent / ".gitignore").exists():
                ignore.write_text("*\n")
        except OSError as exc:
            raise RunFolderUnusable(f"{self.folder} cannot be made for the drill: {exc.strerror}") from exc
        self.renew()

    def renew(self) -> None:
        """As before the first fault: what an earlier run was ordered is forgotten, and its data are whole."""
        for name in ("order.json", "end.json"):
            (self.train / name).unlink(missing_ok=True)
        trainer.write_whole(self.train / "data" / "list.json", ["shard-000.txt"])

    async def submit(self) -> OwnRun:
        """A run that goes on from the newest checkpoint. Raises `DrillStopped` with sbatch's own words."""
        self.renew()
        ours = ["-N", str(self.nodes), "--ntasks-per-node=2", "-t", str(self.minutes)]
        fixed = ["-J", self.name, "-o", f"{self.folder}/output-%j.txt", "--no-requeue"]
        settings = [*SETTINGS, f"--checkpoint={self.train / 'checkpoints'}"]
        sbatch = ["sbatch", *ours, *self.options, *fixed, str(self.folder / "drill.sh")]
        argv = [sys.executable, "-I", "-m", "supervisor.cli.main", "--json", *settings, *sbatch]
        try:
            answer = await run(argv, deadline_s=SUBMIT_S, env=self._supervised_env(), count=self.count)
        except (SlurmFailed, NoSlurm) as exc:
            raise DrillStopped(f"the job could not be submitted: {exc}") from exc
        with suppress(ValueError, KeyError):
            told = json.loads(answer.stdout)
            if told["job_id"]:
                self.submitted.append(JobId(told["job_id"]))
                where = self.folder / "runs" / told["run_id"]
                return OwnRun(run_id=RunId(told["run_id"]), job_id=self.submitted[-1], folder=where)
        words = " ".join((answer.stderr or answer.stdout).split())[:300]
        raise DrillStopped(f"the job was not accepted: {words or f'exit code {answer.code}'}")

    async def submit_plain(self, script: str) -> JobId:
        """A job without supervision, as `sbatch` takes it. Raises `DrillStopped`."""
        path = self.folder / "pace.sh"
        path.write_text(script)
        ours = ["-N", str(self.nodes), "--ntasks-per-node=2", "-t", str(self.minutes)]
        fixed = ["-J", self.name, "-o", f"{self.folder}/output-%j.txt", "--no-requeue", "--parsable"]
        argv = ["sbatch", *ours, *self.options, *fixed, str(path)]
        try:
            answer = (await run(argv, deadline_s=SUBMIT_S, env=self._supervised_env(), count=self.count)).checked()
        except (SlurmFailed, NoSlurm) as exc:
            raise DrillStopped(f"the job for the time of a step could not be submitted: {exc}") from exc
        self.submitted.append(JobId(answer.stdout.strip().partition(";")[0]))
        return self.submitted[-1]

    async def cancel(self) -> None:
        """By their name: a job that went on in another's place ends, too. Returns when they are out of the queue."""
        if not self.submitted:
            return
        env = commands.clean_environment(self.env)
        with suppress(SlurmFailed, NoSlurm):
            await run(["scancel", "--me", f"--name={self.name}"], deadline_s=_ASK_S, env=env, count=self.count)
        ends = time.monotonic() + _END_S
        while time.monotonic() < ends and await self._is_living(self.submitted[-1]):  # noqa: ASYNC110  # Slurm tells no event
            await asyncio.sleep(_ASK_END_EVERY_S)

    async def _is_living(self, job: JobId) -> bool:
        """Where Slurm gives no answer the job lives, for all that we know."""
        found = await self.facts_of(job)
        return found is None or found.state in LIVING

    async def facts_of(self, job: JobId) -> JobFacts | None:
        """Slurm's word; None where it gave no answer."""
        return await facts_of(job, self.env, self.count)

    def _supervised_env(self) -> dict[str, str]:
        own = {"SUPERVISE_HOME": f"{self.folder}/runs", "XDG_STATE_HOME": f"{self.folder}/state"}
        return {**self.env, **own}


async def facts_of(job: JobId, env: Mapping[str, str], count: CallCount) -> JobFacts | None:
    """Slurm's word on a job; None where it gave no answer."""
    clean = commands.clean_environment(env)
    try:
        answer = await run(commands.show_job(job), deadline_s=_ASK_S, env=clean, count=count)
        return parse.parse_job(answer.checked().stdout, job)
    except (SlurmFailed, NoSlurm, ValueError):
        return None


def new_folder(base: Path) -> Path:
    """Where a drill keeps what it did; nobody else's name."""
    return base / f"drill-{os.urandom(4).hex()}"
