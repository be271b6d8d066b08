"""Slurm notices the dead batch host before two leases are over: its own requeue is all that happens."""

import pytest
from story.waiting import wait_for

from tests.e2e.proofs import never_two
from tests.e2e.user import User

pytestmark = pytest.mark.cluster


def test_slurms_own_requeue_is_not_doubled(alice: User) -> None:
    """One job, no claim; begun again elsewhere it shows its term before it launches, and tells of the interruption."""
    job = alice.trains(sbatch=["-N2"], steps=5000)
    job.wait_attempt(1)
    job.wait_checkpoint()
    host = job.batch_host()
    alice.bed.unplug(host)
    alice.bed.kill_node(host)
    job.wait_state("PENDING", deadline_s=90.0)
    assert alice.queue() == [job.job_id]
    # Slurm holds a requeued job back for two minutes; its owner need not wait for that.
    wait_for(lambda: _may_begin(alice, job.job_id), "the job may begin at once", 30)
    job.wait_attempt(2, 90.0)
    assert job.batch_host() != host
    assert job.run.jobs() == [job.job_id]
    assert not (job.run.path / "takeovers").exists()
    (incident,) = job.run.incidents()
    assert incident["action"] == "requeue"
    never_two(alice)


def _may_begin(alice: User, job: str) -> bool:
    return alice.bed.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], check=False).returncode == 0
