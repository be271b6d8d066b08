"""What is drilled: the drill's own job, submitted anew where a fault has ended it, or a job of the user's."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supervisor.drill.own_job import OwnJobs, facts_of
from supervisor.drill.watch import Watched, until
from supervisor.errors import DrillStopped
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.process import CallCount
from supervisor.slurm.waiting import FOR_EVER, LIVING, LONGEST_PAUSE_S

_ASK_EVERY_S: Final = 10.0
_END_S: Final = 15.0


@dataclass(slots=True)
class OwnTarget:
    """The drill's own job."""

    jobs: OwnJobs
    patience_s: float
    say: Callable[[str], None]
    current: Watched | None = None

    @property
    def train(self) -> Path | None:
        """Folder of its trainer."""
        return self.jobs.train

    async def run(self) -> Watched:
        """The run, begun anew where it was over."""
        if self.current is None or self.current.is_over():
            submitted = await self.jobs.submit()
            self.say(f"job {submitted.job_id} is submitted; it is cancelled if you interrupt this")
            self.current = Watched(folder=submitted.folder, checkpoints=self.jobs.train / "checkpoints")
            await self._begun(submitted.job_id, self.current)
        return self.current

    async def batch_host(self, job: JobId) -> NodeName:
        """As Slurm says."""
        return await _batch_host(job, self.jobs.env, self.jobs.count)

    async def end(self) -> None:
        """In good order, while there is something to end."""
        if self.current is not None and not self.current.is_over():
            (self.jobs.train / "end.json").write_text("{}")
            await until(self.current.is_over, _END_S)

    async def _begun(self, job: JobId, run: Watched) -> None:
        """Raises `DrillStopped` where the job waits too long, or has ended before it began."""
        ends, pause_s = time.monotonic() + self.patience_s, _ASK_EVERY_S
        while not await until(lambda: _has_begun(run), min(pause_s, max(0.0, ends - time.monotonic()))):
            found = await self.jobs.facts_of(job)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            if found is not None and found.state not in LIVING:
                raise DrillStopped(
                    f"job {job} is {found.state} and has not begun; see its output in {self.jobs.folder}"
                )
            reason = "" if found is None else found.reason
            if reason.startswith(FOR_EVER) or time.monotonic() >= ends:
                raise DrillStopped(f"job {job} has not begun ({reason or 'no reason known'}); more time: --patience-s")


@dataclass(slots=True)
class UsersTarget:
    """A job of the user's; nothing is submitted or cancelled."""

    watched: Watched
    env: Mapping[str, str]
    count: CallCount
    train: Path | None = None

    async def run(self) -> Watched:
        """The run, while it lives."""
        if self.watched.is_over():
            raise DrillStopped("the run is over")
        return self.watched

    async def batch_host(self, job: JobId) -> NodeName:
        """As Slurm says."""
        return await _batch_host(job, self.env, self.count)


def _has_begun(run: Watched) -> bool:
    view = run.view()
    return view is not None and view.status is not None


async def _batch_host(job: JobId, env: Mapping[str, str], count: CallCount) -> NodeName:
    found = await facts_of(job, env, count)
    if found is None or found.batch_host is None:
        raise DrillStopped(f"Slurm does not say where job {job} runs; see scontrol show job {job}")
    return found.batch_host
