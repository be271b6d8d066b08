"""An ordinary user of the testbed: writes scripts, submits them, trains."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from story.example import EXAMPLE, lay_out, supervise, user_folder
from story.job import Job, submit
from story.waiting import wait_for
from testbed import processes
from testbed.api import Testbed
from testbed.layout import Layout

_REFERENCE_S = 120.0


@dataclass
class User:
    """Alice in a folder of her own."""

    bed: Testbed
    folder: Path
    python: Path
    """The Python that supervise is installed for; on the cluster it may lie elsewhere than here."""
    jobs: list[Job] = field(default_factory=list)

    @classmethod
    def arrives(cls, bed: Testbed, name: str, python: Path) -> "User":
        """In a new folder that holds the example trainer."""
        folder = user_folder(bed, name)
        lay_out(folder)
        return cls(bed, folder, python)

    def writes(self, name: str, text: str) -> Path:
        """A script in the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def plain(self, *arguments: str, text_in: str = "") -> Job:
        """What sbatch makes of it."""
        return self._submitted(["sbatch", *arguments], {}, text_in)

    def supervised(
        self, *arguments: str, options: Sequence[str] = (), env: Mapping[str, str] | None = None, text_in: str = ""
    ) -> Job:
        """What `supervise OPTIONS sbatch ARGUMENTS` makes of it."""
        return self._submitted(supervise(self.python, options, arguments), env or {}, text_in)

    def trains(
        self, *trainer: str, sbatch: Sequence[str] = ("-N2",), options: Sequence[str] = (), steps: int = 100
    ) -> Job:
        """The example under supervision, ten steps a second, with checkpoints that supervise knows of."""
        words = [*sbatch, "train.sbatch", "--steps", str(steps), "--step-seconds", "0.1", "--out", "out", *trainer]
        checkpoint = ["--checkpoint", f"{self.folder}/checkpoints"]
        return self.supervised(*words, options=[*checkpoint, *options], env={"PYTHON": str(self.python)})

    def asks(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """`supervise WORDS`."""
        return self.bed.run([str(self.python.with_name("supervise")), *words], cwd=self.folder, check=False)

    def why(self, job: Job) -> dict[str, Any]:
        """`supervise why --json` of the job."""
        done = self.asks("why", "--json", job.job_id)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def result(self) -> dict[str, Any]:
        """What the example has computed: `step`, `sha256`, `attempt`."""
        found: dict[str, Any] = json.loads((self.folder / "out" / "result.json").read_text())
        return found

    def adopts(self, job: Job) -> Job:
        """A job of hers that another one submitted."""
        self.jobs.append(job)
        return job

    def queue(self) -> list[str]:
        """Ids of the user's jobs that have not ended."""
        return self.bed.run(["squeue", "--me", "-h", "-o", "%A"]).stdout.split()

    def pids(self, *words: str) -> list[int]:
        """Processes on the testbed's nodes with all these words in their command line."""
        return [one.pid for one in processes.all_of(Layout(self.bed.name)) if _has(one.pid, words)]

    def kills(self, *words: str, number: signal.Signals = signal.SIGKILL) -> list[int]:
        """Signal these processes, of which there must be some; the pids. An srun that starts one is not meant."""
        pids = wait_for(lambda: [pid for pid in self.pids(*words) if not _has(pid, ["srun "])], f"a {words[0]}", 30)
        for pid in pids:
            os.kill(pid, number)
        return pids

    def wait_gone(self, *words: str, deadline_s: float = 60.0) -> None:
        """Return when no such process is left on any node."""
        wait_for(lambda: not self.pids(*words), f"no process with {words}", deadline_s)

    def _submitted(self, argv: Sequence[str], env: Mapping[str, str], text_in: str) -> Job:
        self.jobs.append(submit(self.bed, self.folder, argv, env=env, text_in=text_in))
        return self.jobs[-1]


def _has(pid: int, words: Iterable[str]) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return False
    return all(word in line for word in words)


@cache
def reference(steps: int) -> str:
    """The example's sha256 after so many steps in a run that nobody interrupts."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(
            [sys.executable, str(EXAMPLE / "train.py"), "--steps", str(steps), "--out", name, "--checkpoint", name],
            env={"OPENBLAS_NUM_THREADS": "1", "PATH": os.defpath},
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=_REFERENCE_S,
        )
        found: str = json.loads((Path(name) / "result.json").read_text())["sha256"]
        return found
