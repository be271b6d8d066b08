"""How long a fault costs: from the fault to its sight, and from the verdict to ranks running again."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from story.job import Job
from story.run_folder import Json

from bench import neighbours
from bench.measure import Measure
from bench.neighbours import Neighbours
from bench.place import Place

_TIMES = 3
_SLURM_SEES_S, _PLAIN_REQUEUE_S = 29.0, 144.0
"""Measured without us with SlurmdTimeout=10; Slurm's default timeout is 300 s."""
_SUCCESSOR_S = 180.0
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
    others = neighbours.measured(place) if with_plain else None
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
            beside=_beside(others, "node"),
        )
    yield from _into_another_job(place, others)
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
                **_beside(others, "rank"),
            },
        )


def _into_another_job(place: Place, others: Neighbours | None) -> Iterator[Measure]:
    """Without a spare the run goes on in another job."""
    found = [_resubmitted(place, f"again{number}") for number in range(_TIMES)]
    yield Measure(
        measure="node killed, no spare: all, to ranks of the next job",
        value=median(found),
        unit="s",
        beside={"longest, s": max(found), **_beside(others, "node")},
    )


def _beside(others: Neighbours | None, what: str) -> dict[str, float | str]:
    """What the same fault costs without us."""
    if others is None:
        return {} if what == "rank" else {"plain requeue, s (cited)": _PLAIN_REQUEUE_S}
    if what == "rank":
        return others.beside(others.torchrun_rank)
    return others.beside(others.torchrun_node, others.requeue_node)


def _last(job: Job) -> str:
    return next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())


def _resubmitted(place: Place, name: str) -> float:
    """From the fault to ranks of the job that goes on."""
    job = _training(place, name, "-N3")
    victim = _last(job)
    at = time.time()
    place.bed.kill_node(victim)
    successor = job.wait_successor(_SUCCESSOR_S)
    successor.wait_attempt(2, _SUCCESSOR_S)
    again = next(event["at"] for event in successor.run.events("ranks_seen") if event["attempt"] > 1)
    place.end(successor)
    place.bed.revive(victim)
    return float(again) - at


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
    victim = _last(job)
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
