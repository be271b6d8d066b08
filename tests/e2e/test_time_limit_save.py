"""The time limit is read ahead: what was computed until then is saved, and another job goes on before it."""

import pytest

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

_SLOW_AT_FIRST = """#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --time=1
pace=$([ "$SUPERVISE_ATTEMPT" = 1 ] && echo 1 || echo 0.05)
. ./train.sbatch --steps 100 --step-seconds $pace --save-every 1000 --out out
"""
_WITHOUT_BEATS = """
import os, signal, sys, time
from pathlib import Path
import numpy

def save(step):
    numpy.savez(f"checkpoints/step-{step:06d}.npz", step=step)

def asked(*_):
    save(2)
    print("saved", flush=True)
    sys.exit(0)

if int(os.environ.get("SUPERVISE_RESUME_STEP", "0")) > 1:
    print("goes on from step", os.environ["SUPERVISE_RESUME_STEP"], flush=True)
    sys.exit(0)
signal.signal(signal.SIGUSR1, asked)
Path("checkpoints").mkdir(exist_ok=True)
save(1)
while True:
    time.sleep(1)
"""


def test_ranks_save_and_stop_before_the_limit(alice: User) -> None:
    """Not one step is computed twice, though nothing had been saved before; Slurm never had to end the job."""
    alice.writes("slow.sh", _SLOW_AT_FIRST)
    job = alice.supervised(
        "slow.sh", options=["--checkpoint", f"{alice.folder}/checkpoints"], env={"PYTHON": str(alice.python)}
    )
    after = alice.adopts(job.wait_successor(90))
    assert job.wait_ended()["JobState"] == "FAILED"
    assert "the ranks are asked to save and stop" in job.output
    assert after.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": 100, "sha256": reference(100), "attempt": 2}
    steps = [int(line.split()[0]) for line in (alice.folder / "out" / "steps.log").read_text().splitlines()]
    assert steps == list(range(1, 101))
    (incident,) = after.run.incidents()
    assert (incident["verdict"]["cls"], incident["verdict"]["cause"]) == ("planned", "walltime")
    assert after.run.status.get("restarts", 0) == 0
    assert alice.queue() == []


def test_ranks_that_never_beat_are_asked_by_a_signal(alice: User) -> None:
    """The user has said that they answer to it."""
    alice.writes("quiet.py", _WITHOUT_BEATS)
    alice.writes("quiet.sh", f"#!/bin/bash\n#SBATCH -N1 --time=1\nsrun {alice.python} quiet.py\n")
    options = ["--checkpoint", f"{alice.folder}/checkpoints", "--save-signal", "USR1"]
    job = alice.supervised("quiet.sh", options=options)
    after = alice.adopts(job.wait_successor(90))
    job.wait_ended()
    assert job.output.count("saved\n") == 1
    assert after.wait_ended()["JobState"] == "COMPLETED"
    assert "goes on from step 2" in after.output
