"""How long the death of the batch host costs: from the loss of its power to the successor running."""

import time
from collections.abc import Iterator

from testbed.api import Testbed

from bench.measure import Measure
from bench.place import Place

_NAME = "bench-takeover"
_NODES = 4
_PATIENT = ("SlurmdTimeout=300",)
"""Slurm's default. With the testbed's ten seconds Slurm ends the job, agents and all, before two leases are over."""
_PLAIN_REQUEUE_S = 144.0
_BAR_S = 75.0
_TAKEN_S, _BEGUN_S = 120.0, 60.0
_STEPS = ("train.sbatch", "--steps", "5000", "--step-seconds", "0.1")


def measures(place: Place) -> Iterator[Measure]:
    """Once where enough other nodes are free, once where the successor needs nodes of the orphan."""
    with Testbed(_NAME) as bed:
        patient = Place(bed.up(nodes=_NODES, settings=_PATIENT), place.product, place.trainer)
        for nodes, where in ((2, "other nodes free"), (3, "its own nodes needed")):
            yield _host_lost(patient, nodes, where)


def _host_lost(place: Place, nodes: int, where: str) -> Measure:
    folder = place.folder(f"host-lost-{nodes}")
    job = place.supervised(folder, f"-N{nodes}", *_STEPS, options=["--checkpoint", f"{folder}/checkpoints"])
    job.wait_attempt(1)
    job.wait_checkpoint()
    host, at = job.batch_host(), time.time()
    place.bed.unplug(host)
    place.bed.kill_node(host)
    after = job.wait_successor(_TAKEN_S)
    submitted_s = time.time() - at
    after.wait_state("RUNNING", deadline_s=_BEGUN_S)
    running_s = time.time() - at
    after.wait_attempt(2)
    ranks_s = time.time() - at
    place.bed.revive(host)
    place.end(after)
    return Measure(
        measure=f"batch host dead: to the successor running, {where}",
        value=running_s,
        unit="s",
        limit=_BAR_S,
        beside={
            "submitted, s": submitted_s,
            "ranks run, s": ranks_s,
            "plain requeue, s (cited)": _PLAIN_REQUEUE_S,
        },
    )
