"""Where cluster measures take place: a testbed, the product as installed, a Python with the trainer's needs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from story.example import lay_out, supervise, user_folder
from story.job import Job, submit
from story.waiting import wait_for
from testbed import processes
from testbed.api import Testbed
from testbed.errors import TestbedError
from testbed.layout import Layout

from bench.installed import Installed

_IDLE_S, _FOUND_S = 90.0, 30.0


@dataclass(frozen=True)
class Place:
    """A testbed of alice's on which one job runs at a time."""

    bed: Testbed
    product: Installed
    trainer: Path
    """A Python with numpy."""
    jobs: list[Job] = field(default_factory=list)

    def folder(self, name: str) -> Path:
        """A new folder of alice's with the example in it."""
        folder = user_folder(self.bed, name)
        lay_out(folder)
        return folder

    def plain(self, folder: Path, *arguments: str) -> Job:
        """A job of sbatch alone, on an idle cluster."""
        return self._submitted(folder, ["sbatch", *arguments])

    def plain_with(self, python: Path, folder: Path, *arguments: str) -> Job:
        """The same, with another Python for the trainer."""
        return self._submitted(folder, ["sbatch", *arguments], python)

    def supervised(self, folder: Path, *arguments: str, options: Sequence[str] = ()) -> Job:
        """The same under supervision."""
        return self._submitted(folder, supervise(self.product.python, ["-q", *options], arguments))

    def _submitted(self, folder: Path, argv: Sequence[str], python: Path | None = None) -> Job:
        self.bed.nodes_idle(_IDLE_S)
        self.jobs.append(submit(self.bed, folder, argv, env={"PYTHON": str(python or self.trainer)}))
        return self.jobs[-1]

    def pid(self, *marks: str, environment: str = "") -> int:
        """The process on a node whose arguments hold these marks, and whose environment holds this line."""

        def found() -> int | None:
            pids = [one.pid for one in processes.all_of(Layout(self.bed.name))]
            return next((pid for pid in pids if is_it(pid, marks, environment)), None)

        return wait_for(found, f"a process with {' '.join([*marks, environment])}", _FOUND_S)

    def end(self, job: Job) -> None:
        """Cancel the job and return when it is over."""
        with suppress(TestbedError):  # it may be over already
            job.cancel()
        job.wait_ended()


def is_it(pid: int, marks: Sequence[str], environment: str) -> bool:
    """Whether it is a Python with these words; programs that start others (srun, the shell) carry them as well."""
    place = Path("/proc") / str(pid)
    with suppress(OSError):
        program, *arguments = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
        is_python = Path(program).name.startswith("python")
        has_marks = all(any(word.endswith(mark) for word in arguments) for mark in marks)
        return is_python and has_marks and _has_line(place / "environ", environment)
    return False


def _has_line(environ: Path, wanted: str) -> bool:
    return not wanted or wanted.encode() in environ.read_bytes().split(b"\0")
