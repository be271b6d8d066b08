"""How long a fault costs: from the fault to its sight, and from the verdict to ranks running again."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from story.example import lay_out, supervise, user_folder
from story.job import Job, submit
from testbed.api import Testbed

from bench.measure import Measure

_TIMES = 3
_IDLE_S = 60.0
_SLURM_SEES_S, _PLAIN_REQUEUE_S = 29.0, 144.0
"""Measured with SlurmdTimeout=10, without us; Slurm's default timeout is 300 s."""


def measures(bed: Testbed, python: Path) -> Iterator[Measure]:
    """A node killed, a node unplugged, a rank crashed; the median of a few each."""
    for deed, fault in (("killed", bed.kill_node), ("unplugged", bed.unplug)):
        seen, again = [], []
        for number in range(_TIMES):
            job = _training(bed, python, f"{deed}{number}", ["-N3"], [])
            victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
            at = time.time()
            fault(victim)
            incident = _recovered(job)
            seen.append(incident["opened_at"] - at)
            again.append(incident["recovery_s"])
            job.cancel()
            job.wait_ended()
            bed.revive(victim)
        cited = {"Slurm, s (cited)": _SLURM_SEES_S}
        yield Measure(measure=f"node {deed}: seen", value=median(seen), unit="s", limit=5, beside=cited)
        cited = {"plain requeue in all, s (cited)": _PLAIN_REQUEUE_S}
        yield Measure(measure=f"node {deed}: verdict to ranks", value=median(again), unit="s", limit=2, beside=cited)
    crashes = [_crash(bed, python, number) for number in range(_TIMES)]
    yield Measure(measure="rank crashed: verdict to ranks", value=median(crashes), unit="s", limit=2)


def _training(bed: Testbed, python: Path, name: str, sbatch: list[str], trainer: list[str]) -> Job:
    bed.nodes_idle(_IDLE_S)
    folder = user_folder(bed, name)
    lay_out(folder)
    options = ["-q", "--checkpoint", f"{folder}/checkpoints", *(["--spares", "1"] if "-N3" in sbatch else [])]
    words = [*sbatch, "train.sbatch", "--steps", "5000", "--step-seconds", "0.1", *trainer]
    job = submit(bed, folder, supervise(python, options, words), env={"PYTHON": str(python)})
    job.wait_attempt(1)
    job.wait_checkpoint()
    return job


def _recovered(job: Job) -> dict[str, Any]:
    """The incident, once ranks run again."""
    job.wait_attempt(2)
    return job.wait_incident(lambda incident: incident.get("recovery_s") is not None)


def _crash(bed: Testbed, python: Path, number: int) -> float:
    job = _training(bed, python, f"crashed{number}", ["-N2"], ["--kill-at", "3:25", "--fault-attempt", "1"])
    incident = _recovered(job)
    job.cancel()
    job.wait_ended()
    recovery_s: float = incident["recovery_s"]
    return recovery_s
