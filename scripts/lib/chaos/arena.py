"""The testbed with alice's job in it, as faults and checks see it."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from story.job import Job
from story.run_folder import RunFolder, text_of
from testbed import processes
from testbed.api import Testbed
from testbed.layout import Layout

SAVE_EVERY = 20
_WELL = ("idle", "mixed", "alloc", "comp")


@dataclass
class Arena:
    """One run, over all its jobs."""

    bed: Testbed
    folder: Path
    first: Job
    random: Random
    later: list[threading.Timer] = field(default_factory=list)
    """What is undone by itself after a while."""
    calls_before: int = 0
    """Of ordinary users to slurmctld, before the job was submitted."""
    suspects: set[str] = field(default_factory=set)
    """Nodes that a fault has hit: only these may ever be excluded."""

    @property
    def run(self) -> RunFolder:
        """The run folder."""
        return self.first.run

    @property
    def job(self) -> Job:
        """The job that works on the run now, or will."""
        jobs = self.run.jobs() or [self.first.job_id]
        return Job(self.bed, self.folder, jobs[-1])

    @property
    def step_lines(self) -> list[tuple[int, int]]:
        """Step and attempt, in the order in which rank 0 of whichever attempt has written them."""
        words = (line.split() for line in text_of(self.folder / "out" / "steps.log").splitlines())
        return [(int(parts[0]), int(parts[1])) for parts in words if len(parts) == 3]  # noqa: PLR2004  # with the loss

    @property
    def is_over(self) -> bool:
        """The trainer has written its result."""
        return (self.folder / "out" / "result.json").exists()

    def pids(self, *words: str, without: str = "srun ") -> list[int]:
        """Processes on the nodes with all these words in their command line."""
        everywhere = (one.pid for one in processes.all_of(Layout(self.bed.name)))
        return [pid for pid in everywhere if _has(pid, words) and without not in _line(pid)]

    def pick(self, words: Sequence[str]) -> int | None:
        """One of those processes."""
        found = self.pids(*words)
        return self.random.choice(found) if found else None

    def signal(self, number: signal.Signals, *words: str) -> bool:
        """Signal one of those processes; False: there is none."""
        pid = self.pick(words)
        if pid is None:
            return False
        os.kill(pid, number)
        return True

    def freeze(self, seconds: float, *words: str) -> bool:
        """Stop one of those processes, and let it go on later."""
        pid = self.pick(words)
        if pid is None:
            return False
        os.kill(pid, signal.SIGSTOP)
        self.after(seconds, lambda: _continue(pid))
        return True

    def after(self, seconds: float, deed: Callable[[], object]) -> None:
        """Do it later; `settle` waits for it."""
        timer = threading.Timer(seconds, deed)
        timer.daemon = True
        self.later.append(timer)
        timer.start()

    def victim(self) -> str | None:
        """A node of the attempt that the script does not run on."""
        nodes = [node for node in self.job.attempt_nodes() if node != self.job.batch_host()]
        return self.random.choice(nodes) if nodes else None

    def mend(self) -> None:
        """Give the cluster its dead nodes back, so that there is always something to go on with."""
        held = set(self.job.nodes())
        for node, state in self.bed.node_states().items():
            if node not in held and not state.startswith(_WELL):
                self.bed.revive(node)

    def settle(self) -> None:
        """Wait for what is undone later."""
        for timer in self.later:
            timer.join()
        self.later.clear()


def _continue(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _has(pid: int, words: Sequence[str]) -> bool:
    line = _line(pid)
    return bool(line) and all(word in line for word in words)
