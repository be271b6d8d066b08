"""Ranks' lines labelled by `sattach`: who wrote what is known, and the job ends as without."""

import pytest
from story.job import Job
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 60
_SATTACH = ("--rank-lines", "sattach")
_RAISES = """#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2
srun bash -c 'echo hello from $SLURM_PROCID; sleep 6; [ $SLURM_PROCID = 2 ] || sleep 600
echo "KeyError: loss_mask of the one who fails" >&2; exit 3'
"""


def _lines(job: Job, rank: int) -> list[str]:
    """What the newest incident keeps of this rank; older ones are packed."""
    kept = max(job.run.path.glob("incidents/*/ranks.log")).read_text().splitlines()
    return [line.removeprefix(f"{rank}: ") for line in kept if line.startswith(f"{rank}: ")]


def test_an_incident_knows_whose_lines_they_are(alice: User) -> None:
    """Nothing in the lines tells the rank: the bundle has each rank's own, the verdict's root is the failing rank's."""
    job = alice.trains("--raise-at", "1:35", options=_SATTACH, steps=STEPS)
    job.wait_attempt(1)
    wait_for(lambda: alice.pids("sattach", "-l"), "a reader", 30)
    assert job.wait_ended()["JobState"] == "FAILED"
    first = job.run.incidents()[0]
    assert first["verdict"]["blame"]["ranks"] == [1]
    assert first["verdict"]["evidence"][0]["source"].startswith("ranks/1.log:")
    lines = _lines(job, 1)
    assert "KeyError: 'loss_mask'" in lines
    assert not any(line.startswith("step ") for line in lines), "only rank 0 tells of steps"
    alice.wait_gone("sattach")


def test_a_failure_shows_before_srun_hears_of_it(alice: User) -> None:
    """Slurm tells srun 2.3 s later, since sattach has not answered; sattach's own word counts."""
    alice.writes("raises.sh", _RAISES)
    job = alice.supervised("raises.sh", options=[*_SATTACH, "--on-rank-exit", "any", "--max-restarts", "0"])
    job.wait_ended()
    failed = job.run.events("rank_failed")[0]
    assert (failed["rank"], failed["code"]) == (2, 3)
    assert "sattach: error: task 2 exited with exit code 3" in failed["text"]
    assert _lines(job, 2)[0] == "hello from 2"
    alice.wait_gone("sattach")


def test_a_restart_is_read_anew_and_the_result_is_the_same(alice: User) -> None:
    """Attempt 2 has a reader of its own; the steps are not disturbed, nothing stays behind."""
    job = alice.trains("--kill-at", "3:25", "--fault-attempt", "1", options=_SATTACH, steps=STEPS)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    assert job.run.log().count("rank_lines.reads") == 2
    alice.wait_gone("sattach")


def test_by_default_nobody_reads(alice: User) -> None:
    """Labels by content start no reader."""
    job = alice.trains(steps=30)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert "rank_lines" not in job.run.log()
