"""Ranks that all live and stand still are noticed by their beats, and only then."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 80
_NOTICED_S = 15.0
_SLOW = """
import os, time
from supervise_beat import beat

rank = int(os.environ["SLURM_PROCID"])
beat(0, phase="setup")
time.sleep(12)
for step in range(1, 41):
    time.sleep(0.1)
    beat(step)
    if step in (20, 30):
        beat(step, phase="checkpoint" if rank == 0 else "step")
        time.sleep(12)
        beat(step)
    if step == 25:
        beat(step, phase="eval")
        time.sleep(12)
        beat(step)
print("through", rank, flush=True)
"""


def test_a_rank_that_stands_still_is_noticed_and_named(alice: User) -> None:
    """One rank is stopped, the others wait for it for ever; the run goes on without a bit of difference."""
    job = alice.trains(steps=STEPS)
    job.wait_step(25)
    os.kill(wait_for(lambda: _pid(alice, 3), "rank 3", 10), signal.SIGSTOP)
    stopped_at = time.time()
    incident = job.wait_incident(lambda one: one["action"] != "none", 60)
    assert incident["opened_at"] - stopped_at <= _NOTICED_S
    assert (incident["verdict"]["cause"], incident["verdict"]["blame"]["ranks"]) == ("deadlock", [3])
    assert incident["action"] == "relaunch"
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    assert len(job.run.incidents()) == 1


def test_starts_saves_and_evaluations_are_no_hang(alice: User) -> None:
    """Each takes longer than a hang among steps may."""
    alice.writes("slow.py", _SLOW)
    alice.writes("slow.sh", f"#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=1\nsrun {alice.python} slow.py\n")
    job = alice.supervised("slow.sh")
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert job.output.count("through") == 2
    assert job.run.incidents() == []


def _pid(user: User, rank: int) -> int | None:
    """The rank's process; its srun has another environment."""
    for pid in user.pids("train.py"):
        with suppress(OSError):
            if f"SLURM_PROCID={rank}" in Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0"):
                return pid
    return None
