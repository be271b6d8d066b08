"""What ranks notice: how much later they start, and how much slower they step."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import median

from story.example import lay_out, supervise, user_folder
from story.job import Job, submit
from story.waiting import wait_for
from testbed.api import Testbed

from bench.measure import Measure, paired_difference, paired_ratio

_START_PAIRS = 5
_STEP_PAIRS = 6
_FIRST, _LAST = 50, 450
_IDLE_S = 60.0
_STARTS = "#!/bin/sh\n#SBATCH -N2 --time=5\nsrun -N2 date +%s.%N\n"


def added_to_start(bed: Testbed, python: Path) -> Iterator[Measure]:
    """From slurmd's start of the batch script to the last rank's first breath, with us against without."""
    folder = user_folder(bed, "start")
    (folder / "job.sh").write_text(_STARTS)
    ours = supervise(python, ["-q"], ["job.sh"])
    pairs = [(_start_s(bed, folder, ["sbatch", "job.sh"]), _start_s(bed, folder, ours)) for _ in range(_START_PAIRS)]
    yield Measure(
        measure="added to the start of ranks",
        value=paired_difference(pairs),
        unit="s",
        limit=1.5,
        beside={"sbatch, s": median(first for first, _ in pairs)},
    )


def _start_s(bed: Testbed, folder: Path, argv: list[str]) -> float:
    bed.nodes_idle(_IDLE_S)
    job = submit(bed, folder, argv)
    job.wait_ended()
    ranks = [float(line) for line in job.output.split() if re.fullmatch(r"\d+\.\d+", line)]
    return max(ranks) - _launched_at(bed, job)


def _launched_at(bed: Testbed, job: Job) -> float:
    """When slurmd began with the batch script, as its own log says; epoch seconds."""
    seeks = re.compile(rf"^\[([\d:.T-]+)\] Launching batch job {job.job_id} ", re.MULTILINE)

    def found() -> "re.Match[str] | None":
        logs = (path.read_text(errors="replace") for path in bed.logs.glob("node*.log"))
        return next((match for text in logs if (match := seeks.search(text))), None)

    match = wait_for(found, f"the launch of job {job.job_id} in a log of slurmd", 10)
    return datetime.fromisoformat(match[1]).astimezone().timestamp()


def step_time(bed: Testbed, python: Path) -> Iterator[Measure]:
    """The example's time for a step, with us against without, one after the other."""
    pairs = [
        (_step_s(bed, python, f"plain{n}", None), _step_s(bed, python, f"ours{n}", [])) for n in range(_STEP_PAIRS)
    ]
    yield Measure(
        measure="step time with an agent",
        value=(paired_ratio(pairs) - 1) * 100,
        unit="%",
        limit=0.2,
        beside={"step without, ms": median(first for first, _ in pairs) * 1000},
    )


def _step_s(bed: Testbed, python: Path, name: str, options: list[str] | None) -> float:
    """From the checkpoints' own times: between two of them lie only steps."""
    folder = user_folder(bed, name)
    lay_out(folder)
    words = ["-N1", "--ntasks-per-node=1", "train.sbatch", "--steps", str(_LAST), "--save-every", str(_FIRST)]
    argv = ["sbatch", *words] if options is None else supervise(python, ["-q", *options], words)
    bed.nodes_idle(_IDLE_S)
    submit(bed, folder, argv, env={"PYTHON": str(python)}).wait_ended()
    first, last = (folder / "checkpoints" / f"step-{step:06d}.npz" for step in (_FIRST, _LAST))
    return (last.stat().st_mtime_ns - first.stat().st_mtime_ns) / 1e9 / (_LAST - _FIRST)
