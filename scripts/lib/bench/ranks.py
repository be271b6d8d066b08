"""What ranks notice first: how much later they start."""

import re
from collections.abc import Iterator
from datetime import datetime

from story.example import user_folder
from story.job import Job
from story.waiting import wait_for

from bench.measure import Measure, Pair, paired_difference, without
from bench.place import Place

_START_PAIRS = 7
_STARTS = "#!/bin/sh\n#SBATCH -N3 --time=5\nsrun -N3 date +%s.%N\n"
_LOGGED_S = 10.0


def added_to_start(place: Place) -> Iterator[Measure]:
    """From slurmd's start of the batch script to the first breath of the last of three ranks."""
    folder = user_folder(place.bed, "start")
    (folder / "job.sh").write_text(_STARTS, encoding="utf-8")
    pairs: list[Pair] = []
    for _ in range(_START_PAIRS):
        plain = _start_s(place, place.plain(folder, "job.sh"))
        pairs.append((plain, _start_s(place, place.supervised(folder, "job.sh"))))
    yield Measure(
        measure="added to the start of ranks",
        value=paired_difference(pairs),
        unit="s",
        limit=1.5,
        beside={"plain, s": without(pairs), "longest of ours, s": max(ours for _, ours in pairs)},
    )


def _start_s(place: Place, job: Job) -> float:
    job.wait_ended()
    ranks = [float(line) for line in job.output.split() if re.fullmatch(r"\d+\.\d+", line)]
    return max(ranks) - _launched_at(place, job)


def _launched_at(place: Place, job: Job) -> float:
    """When slurmd began with the batch script, in seconds since the epoch: its log has the milliseconds."""

    def found() -> float | None:
        logs = (path.read_text(encoding="utf-8", errors="replace") for path in place.bed.logs.glob("node*.log"))
        return next((at for text in logs if (at := launched_at(text, job.job_id))), None)

    return wait_for(found, f"the launch of job {job.job_id} in a log of slurmd", _LOGGED_S)


def launched_at(log: str, job_id: str) -> float | None:
    """When this log of slurmd says that the batch job was launched; None: it does not."""
    found = re.search(rf"^\[([\d:.T-]+)\] Launching batch job {job_id} ", log, re.MULTILINE)
    return datetime.fromisoformat(found[1]).astimezone().timestamp() if found else None
