"""How long a fault costs: from the fault to its sight, and from the verdict to ranks running again."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from story.job import Job
from story.run_folder import Json

from bench.measure import Measure
from bench.place import Place

_TIMES = 3
_SLURM_SEES_S, _PLAIN_REQUEUE_S = 29.0, 144.0
"""Measured without us with SlurmdTimeout=10; Slurm's default timeout is 300 s."""
_PLAIN_S = 600.0
_STEPS = ("train.sbatch", "--steps", "5000", "--step-seconds", "0.1")
_VICTIM = "SLURM_PROCID=3"


@dataclass(frozen=True)
class Recovery:
    """One fault. Seconds."""

    seen: float
    """From the fault to the opening of the incident."""
    collect: float
    """From there to the verdict."""
    verdict_to_ranks: float
    fault_to_ranks: float


def measures(place: Place, *, with_plain: bool) -> Iterator[Measure]:
    """A node killed, a node unplugged, a rank killed; the median of a few each."""
    requeue_s = _plain_requeue_s(place) if with_plain else _PLAIN_REQUEUE_S
    how = "measured" if with_plain else "cited"
    for deed, fault in (("killed", place.bed.kill_node), ("unplugged", place.bed.unplug)):
        found = [_node_lost(place, f"{deed}{number}", fault) for number in range(_TIMES)]
        yield Measure(
            measure=f"node {deed}: until seen",
            value=median(one.seen for one in found),
            unit="s",
            limit=5,
            beside={"Slurm, s (cited)": _SLURM_SEES_S},
        )
        yield _verdict_to_ranks(f"node {deed}", found)
        yield Measure(
            measure=f"node {deed}: all, to ranks on the spare",
            value=median(one.fault_to_ranks for one in found),
            unit="s",
            limit=7,
            beside={f"plain requeue, s ({how})": requeue_s},
        )
    for how_told, options in (("", ()), (", --on-rank-exit any", ("--on-rank-exit", "any"))):
        found = [_rank_killed(place, f"crashed{len(options)}{number}", *options) for number in range(_TIMES)]
        yield _verdict_to_ranks(f"rank killed{how_told}", found)
        yield Measure(
            measure=f"rank killed{how_told}: all but collecting",
            value=median(one.fault_to_ranks - one.collect for one in found),
            unit="s",
            limit=2,
            beside={
                "until it counts as broken, s": median(one.seen for one in found),
                "collecting, s": median(one.collect for one in found),
            },
        )


def _verdict_to_ranks(deed: str, found: list[Recovery]) -> Measure:
    times = [one.verdict_to_ranks for one in found]
    return Measure(
        measure=f"{deed}: verdict to ranks",
        value=median(times),
        unit="s",
        limit=2,
        beside={"shortest, s": min(times), "longest, s": max(times)},
    )


def _node_lost(place: Place, name: str, fault: Callable[[str], None]) -> Recovery:
    job = _training(place, name, "-N3", "--spares", "1")
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    at = time.time()
    fault(victim)
    found = _recovery(job, at)
    place.end(job)
    place.bed.revive(victim)
    return found


def _rank_killed(place: Place, name: str, *options: str) -> Recovery:
    job = _training(place, name, "-N2", *options)
    pid = place.pid("/train.py", environment=_VICTIM)
    at = time.time()
    os.kill(pid, signal.SIGKILL)
    found = _recovery(job, at)
    place.end(job)
    return found


def _training(place: Place, name: str, nodes: str, *options: str) -> Job:
    """A job of the example with a checkpoint to go on from."""
    folder = place.folder(name)
    job = place.supervised(folder, nodes, *_STEPS, options=["--checkpoint", f"{folder}/checkpoints", *options])
    job.wait_attempt(1)
    job.wait_checkpoint()
    return job


def _recovery(job: Job, at: float) -> Recovery:
    """Measured once ranks run again."""
    job.wait_attempt(2)
    record = job.wait_incident(lambda incident: incident.get("recovery_s") is not None)
    again = next(event["at"] for event in job.run.events("ranks_seen") if event["attempt"] > 1)
    return recovery(record, fault_at=at, ranks_at=again)


def recovery(record: Json, *, fault_at: float, ranks_at: float) -> Recovery:
    """What an incident record and two moments (seconds since the epoch) say."""
    return Recovery(
        seen=record["opened_at"] - fault_at,
        collect=record["split"].get("collect") or 0.0,
        verdict_to_ranks=record["recovery_s"],
        fault_to_ranks=ranks_at - fault_at,
    )


def _plain_requeue_s(place: Place) -> float:
    """From the death of a node to ranks running again, when Slurm alone restarts the job."""
    job = place.plain(place.folder("requeued"), "-N3", "--requeue", "--open-mode=append", *_STEPS)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.nodes()) if node != job.batch_host())
    at = time.time()
    place.bed.kill_node(victim)
    job.wait_output("^resumed from ", _PLAIN_S)
    found = time.time() - at
    place.end(job)
    place.bed.revive(victim)
    return found
