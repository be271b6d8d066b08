"""Slurm stops a job for a while, as a gang's other half does: nobody was silent, and nothing is restarted."""

import time

import pytest

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 120
_STOPPED_S = 45.0
"""Longer than the lease after which agents stop their ranks."""


def test_a_suspended_job_goes_on_where_it_was(alice: User) -> None:
    """Ranks, agents, broker and supervisor stand still together, on every node."""
    job = alice.trains(steps=STEPS)
    job.wait_checkpoint()
    alice.bed.run(["scontrol", "suspend", job.job_id], user="root")
    job.wait_state("SUSPENDED")
    time.sleep(_STOPPED_S)
    alice.bed.run(["scontrol", "resume", job.job_id], user="root")
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert job.run.incidents() == []
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 1}
    assert alice.queue() == []
