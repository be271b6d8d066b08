"""A job with more right takes the nodes: the run goes on once, by Slurm's doing or by ours."""

import pytest
from story.job import Job
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 150


def _preempted(user: User, partition: str) -> Job:
    """A job with Requeue=1 that has a checkpoint when another one takes all nodes."""
    job = user.trains(sbatch=["-N2", "-p", partition, "--requeue"], steps=STEPS)
    job.wait_attempt(1)
    job.wait_checkpoint()
    user.plain("-p", "urgent", "-N4", "--exclusive", "--wrap", "sleep 3")
    return job


@pytest.mark.parametrize("partition", ["cancels", "graces"])
def test_where_preemption_cancels_a_successor_goes_on(alice: User, partition: str) -> None:
    """Requeue=1 means nothing there: without a successor the run would end. With a grace the ranks are told first."""
    job = _preempted(alice, partition)
    after = alice.adopts(job.wait_successor(90))
    job.wait_ended()
    assert after.wait_ended(180)["JobState"] == "COMPLETED"
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    (incident, *_) = after.run.incidents()
    assert (incident["verdict"]["cls"], incident["verdict"]["cause"]) == ("planned", "preemption")
    assert alice.queue() == []


def test_where_preemption_requeues_slurm_goes_on(alice: User) -> None:
    """The job waits under its own id, and nothing was submitted beside it."""
    job = _preempted(alice, "requeues")
    wait_for(lambda: job.facts().get("Restarts") == "1", "a requeue", 60)
    assert job.wait_state("PENDING") == "PENDING"
    assert job.run.events("submitted") == []
    assert [job_id for job_id in alice.queue() if job_id == job.job_id] == [job.job_id]
