"""One job of alice on a testbed: submitting it, watching it, reading what it left."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from testbed.api import Testbed
from testbed.errors import TestbedError

from story.run_folder import Json, RunFolder, tail, text_of
from story.waiting import Late, T, wait_for

LIVING = frozenset({"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED"})
_SLURM_POLL_S = 0.4
_ALIVE_EVERY_S = 3.0
_SHOWN = ("JobState", "Reason", "ExitCode", "Restarts", "RunTime", "NodeList", "BatchHost", "ExcNodeList", "Comment")


class NotSubmitted(Exception):
    """sbatch refused; the message holds its words."""


@dataclass(frozen=True)
class Job:
    """A job that was accepted. `folder` is where it was submitted and where `slurm-<id>.out` lies."""

    bed: Testbed
    folder: Path
    job_id: str
    said: str = ""
    """What the submission wrote to stderr."""

    def facts(self) -> dict[str, str]:
        """`scontrol show job` as pairs; empty when Slurm does not know (or does not answer) any more."""
        with suppress(TestbedError):
            # As root, here and below: what slurmctld counts as the user's are the calls of his job alone.
            done = self.bed.run(["scontrol", "-o", "show", "job", self.job_id], user="root", check=False)
            return dict(word.split("=", 1) for word in done.stdout.split() if "=" in word)
        return {}

    @property
    def state(self) -> str:
        """Slurm's word; empty: unknown."""
        return self.facts().get("JobState", "")

    def nodes(self) -> list[str]:
        """The nodes that squeue shows for the job."""
        asked = ["squeue", "-h", "-j", self.job_id, "-o", "%N"]
        shown = self.bed.run(asked, user="root", check=False).stdout.strip()
        return self.bed.run(["scontrol", "show", "hostnames", shown]).stdout.split() if shown else []

    def wait_ended(self, deadline_s: float = 120.0) -> dict[str, str]:
        """Slurm's facts of the job once it has ended."""

        def ended() -> dict[str, str] | None:
            facts = self.facts()
            return facts if facts and facts["JobState"] not in LIVING else None

        return wait_for(ended, f"job {self.job_id} ends", deadline_s, poll_s=_SLURM_POLL_S)

    def wait_state(self, *states: str, deadline_s: float = 60.0) -> str:
        """The state of the job once it is one of these."""
        what = f"job {self.job_id} is {' or '.join(states)}"
        return wait_for(
            lambda: word if (word := self.state) in states else None, what, deadline_s, poll_s=_SLURM_POLL_S
        )

    @property
    def output(self) -> str:
        """What the job has printed."""
        return text_of(self.folder / f"slurm-{self.job_id}.out")

    def wait_output(self, pattern: str, deadline_s: float = 60.0) -> re.Match[str]:
        """The first match of a regular expression in the output, once there is one (`^` and `$` are line ends)."""
        seeks = re.compile(pattern, re.MULTILINE)
        return self._wait(lambda: seeks.search(self.output), f"{pattern!r} in the job's output", deadline_s)

    @property
    def run(self) -> RunFolder:
        """The job's run folder; the only one in the folder of submission, or the one that names the job."""
        folders = [path.parent for path in self.folder.glob(".supervise/*/run.json")]
        for path in folders:
            if f'"{self.job_id}"' in text_of(path / "submissions.jsonl"):
                return RunFolder(path)
        return RunFolder(folders[0] if folders else self.folder / ".supervise" / "none")

    def wait_attempt(self, number: int, deadline_s: float = 60.0) -> None:
        """Return when that attempt's ranks run."""

        def seen() -> bool:
            return any(event["attempt"] >= number for event in self.run.events("ranks_seen"))

        self._wait(seen, f"attempt {number} runs", deadline_s)

    def wait_checkpoint(self, *, after: int = 0, deadline_s: float = 60.0) -> Path:
        """The newest `checkpoints/step-NNNNNN.npz` of the example trainer, once there is one beyond step `after`."""

        def newest() -> Path | None:
            found = sorted((self.folder / "checkpoints").glob("step-*.npz"))
            return found[-1] if found and step_of(found[-1]) > after else None

        return self._wait(newest, f"a checkpoint after step {after}", deadline_s)

    def wait_step(self, step: int, deadline_s: float = 60.0) -> int:
        """The newest step of the example trainer (run with `--out out`), once it is at least this one."""

        def reached() -> int | None:
            words = text_of(self.folder / "out" / "steps.log").rpartition("\n")[0].splitlines()[-1:]
            newest = int(words[0].split()[0]) if words else -1
            return newest if newest >= step else None

        return self._wait(reached, f"step {step}", deadline_s)

    def wait_incident(self, wanted: Callable[[Json], bool], deadline_s: float = 60.0) -> Json:
        """The newest incident, once there is one that is as wanted."""

        def newest() -> Json | None:
            found = self.run.incidents()
            return found[-1] if found and wanted(found[-1]) else None

        return self._wait(newest, "such an incident", deadline_s)

    def wait_successor(self, deadline_s: float = 60.0) -> "Job":
        """The job that goes on with the run, once it is submitted."""

        def found() -> str | None:
            jobs = self.run.jobs()
            return jobs[-1] if jobs and jobs[-1] != self.job_id else None

        return Job(self.bed, self.folder, wait_for(found, f"a successor of job {self.job_id}", deadline_s))

    def _wait(self, look: Callable[[], T | None], what: str, deadline_s: float) -> T:
        """As `wait_for`, but a job that has ended is not waited for any longer."""
        asked_at = time.monotonic()

        def looked() -> T | None:
            nonlocal asked_at
            found = look()
            if found or time.monotonic() < asked_at + _ALIVE_EVERY_S:
                return found
            asked_at = time.monotonic()
            if (state := self.state) in LIVING or (found := look()):
                return found
            raise Late(f"{what}: job {self.job_id} is {state or 'unknown'} already")

        return wait_for(looked, what, deadline_s)

    def attempt_nodes(self) -> list[str]:
        """The nodes of the attempt at hand, as the supervisor says."""
        return list(self.run.status.get("attempt_nodes", ()))

    def batch_host(self) -> str:
        """The node that the script runs on."""
        return self.facts().get("BatchHost", "")

    def cancel(self, *options: str) -> None:
        """`scancel` by the user."""
        self.bed.run(["scancel", *options, self.job_id])

    def story(self) -> str:
        """All that explains a failure: the job's output, the supervisor's log, events, incidents."""
        run, facts = self.run, self.facts()
        parts = {
            f"job {self.job_id}, {self.folder}": " ".join(f"{key}={facts.get(key)}" for key in _SHOWN),
            "said at submission": self.said,
            "output": tail(self.output, 60),
            "supervisor.log": tail(run.log(), 60),
            "agent.log": tail(text_of(run.path / "agent.log"), 20),
            "events": tail("\n".join(str(event)[:300] for event in run.events()), 40),
            "incidents": "\n".join(str(incident) for incident in run.incidents()),
            "status": str(run.status),
        }
        return "\n".join(f"--- {name}\n{text}" for name, text in parts.items() if text)


def step_of(checkpoint: Path) -> int:
    """The step that a checkpoint of the example is named by."""
    return int(re.findall(r"\d+", checkpoint.name)[0])


def submit(
    bed: Testbed, folder: Path, argv: Sequence[str], *, env: Mapping[str, str] | None = None, text_in: str = ""
) -> Job:
    """The job that this command (of `sbatch`, or `supervise … sbatch`) submits; raises NotSubmitted."""
    done = bed.run(argv, cwd=folder, env=env, text_in=text_in, check=False)
    found = re.search(r"(?:Submitted batch job )?(\d+)", done.stdout)
    if done.returncode or found is None:
        raise NotSubmitted(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr.strip()}")
    return Job(bed, folder, found[1], done.stderr)
