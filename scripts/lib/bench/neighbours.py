"""The same faults without us: what `sbatch --requeue` and `torchrun --max-restarts` need to ranks that run again."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from checks import torch_env
from product.venv import CHECKOUT
from story.job import Job
from story.waiting import wait_for
from testbed import processes
from testbed.layout import Layout

from bench.place import Place, is_it

_PLAIN_S = 600.0
_STARTED_S = 180.0
_STEPS = ("train.sbatch", "--steps", "5000", "--step-seconds", "0.1")
_TORCH = CHECKOUT / "docs" / "examples" / "torch_ddp" / "train.py"
_RANKS = 2
"""Least nodes of torchrun's job, one rank on each; a third one is its spare."""
_TORCHRUN = f"""#!/bin/bash
#SBATCH -N3 --ntasks-per-node=1 --no-kill --time=30
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export OMP_NUM_THREADS=1
srun --no-kill --kill-on-bad-exit=0 "$PYTHON" -m torch.distributed.run \\
    --nnodes {_RANKS}:3 --nproc-per-node 1 --max-restarts 5 \\
    --rdzv-backend c10d --rdzv-endpoint "$head:29471" --rdzv-id bench \\
    "$PWD/train.py" --steps 100000 --step-seconds 0.1 --save-every 20 --checkpoint "$PWD/checkpoints" --text "$PWD"
"""


@dataclass(frozen=True)
class Neighbours:
    """From the fault to ranks that run again, seconds; None: not measured."""

    requeue_node: float
    torchrun_node: float | None
    torchrun_rank: float | None

    def beside(self, torchrun: float | None, requeue: float | None = None) -> dict[str, float | str]:
        """For the column of what stands beside a measure."""
        found: dict[str, float | str] = {}
        if requeue is not None:
            found["sbatch --requeue, s"] = requeue
        if torchrun is not None:
            found["torchrun --max-restarts, s"] = torchrun
        return found


def measured(place: Place) -> Neighbours:
    """Each fault once: these are minutes, and no median is needed to tell them from seconds."""
    torch_env.offer()
    has_torch = "TORCH_PYTHON" in os.environ
    if not has_torch:
        print("recover: no PyTorch here, torchrun is not measured", file=sys.stderr)
    return Neighbours(
        requeue_node=_requeue_s(place),
        torchrun_node=_torchrun_s(place, "torchrun-node", _kill_node) if has_torch else None,
        torchrun_rank=_torchrun_s(place, "torchrun-rank", _kill_rank) if has_torch else None,
    )


def _not_batch_host(job: Job) -> str:
    return next(node for node in reversed(job.nodes()) if node != job.batch_host())


def _requeue_s(place: Place) -> float:
    """Slurm alone restarts the job once it has noticed that a node is gone."""
    job = place.plain(place.folder("requeued"), "-N3", "--requeue", "--open-mode=append", *_STEPS)
    job.wait_checkpoint()
    victim = _not_batch_host(job)
    at = time.time()
    place.bed.kill_node(victim)
    job.wait_output("^resumed from ", _PLAIN_S)
    found = time.time() - at
    place.end(job)
    place.bed.revive(victim)
    return found


def _torchrun_s(place: Place, name: str, fault: Callable[[Place, Job, set[int]], str]) -> float:
    """Workers that run again in torchrun's next round. Its agents live on in a job that Slurm does not end."""
    folder = place.folder(name)
    shutil.copyfile(_TORCH, folder / "train.py")
    script = folder / "torchrun.sbatch"
    script.write_text(_TORCHRUN, encoding="utf-8")
    job = place.plain_with(Path(os.environ["TORCH_PYTHON"]), folder, str(script))
    wait_for(lambda: any(folder.glob("checkpoints/step-*/.metadata")), "torchrun's first checkpoint", _STARTED_S)
    before = _workers(place)
    at = time.time()
    victim = fault(place, job, before)
    wait_for(lambda: len(_workers(place) - before) >= _RANKS, "torchrun's next round", _PLAIN_S)
    found = time.time() - at
    place.end(job)
    if victim:
        place.bed.revive(victim)
    return found


def _workers(place: Place) -> set[int]:
    """The processes of torchrun carry the script's path, too, and more before it."""
    pids = [one.pid for one in processes.all_of(Layout(place.bed.name))]
    return {pid for pid in pids if is_it(pid, ["/train.py"], "") and not is_it(pid, ["torch.distributed.run"], "")}


def _kill_node(place: Place, job: Job, _workers: set[int]) -> str:
    victim = _not_batch_host(job)
    place.bed.kill_node(victim)
    return victim


def _kill_rank(_place: Place, _job: Job, workers: set[int]) -> str:
    os.kill(max(workers), signal.SIGKILL)
    return ""
