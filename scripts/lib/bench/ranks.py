"""What ranks notice: how much later they start, and how much slower they step."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from story.example import user_folder
from story.job import Job
from story.waiting import wait_for

from bench.measure import Measure, Pair, paired_difference, paired_ratio, without
from bench.place import Place

_START_PAIRS = 7
_STARTS = "#!/bin/sh\n#SBATCH -N3 --time=5\nsrun -N3 date +%s.%N\n"
_LOGGED_S = 10.0

_STEP_PAIRS = 8
_WARM, _MEASURED = 300, 299
"""Steps before and between the only two checkpoints: after step 300, and at the end, as it is no multiple of 300."""


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


def step_time(place: Place) -> Iterator[Measure]:
    """The example's time for a step, with us against without, one after the other."""
    pairs = [_step_pair(place, number) for number in range(_STEP_PAIRS)]
    ratios = sorted(ours / plain for plain, ours in pairs)
    middle = ratios[len(ratios) // 4 : -(len(ratios) // 4)]
    yield Measure(
        measure="step time, added by supervision",
        value=(paired_ratio(pairs) - 1) * 100,
        unit="%",
        limit=0.2,
        beside={"step without, ms": without(pairs) * 1000, "middle half of the pairs, %": _range_text(middle)},
    )


def _range_text(ratios: list[float]) -> str:
    """How far this can be trusted: a machine that others use as well gives a wide one."""
    return " to ".join(f"{(ratio - 1) * 100:+.2f}" for ratio in (ratios[0], ratios[-1]))


def _step_pair(place: Place, number: int) -> Pair:
    """Who goes first changes from pair to pair, so that a machine that grows slower favours nobody."""
    runs = {"plain": place.plain, "ours": place.supervised}
    found = {}
    for name in sorted(runs, reverse=number % 2 == 0):
        folder = place.folder(f"{name}{number}")
        runs[name](folder, *_words()).wait_ended()
        found[name] = _step_s(folder)
    return found["plain"], found["ours"]


def _words() -> list[str]:
    steps = ["--steps", str(_WARM + _MEASURED), "--save-every", str(_WARM)]
    return ["-N1", "--ntasks-per-node=1", "train.sbatch", *steps]


def _step_s(folder: Path) -> float:
    """From the checkpoints' own times: between them lie only steps."""
    first, last = (folder / "checkpoints" / f"step-{step:06d}.npz" for step in (_WARM, _WARM + _MEASURED))
    return (last.stat().st_mtime_ns - first.stat().st_mtime_ns) / 1e9 / _MEASURED
