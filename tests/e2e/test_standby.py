"""A second job waits in the queue for the first to fail, and only for that."""

import json

import pytest
from story.job import Job
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 60


def _with_standby(user: User, *sbatch: str, steps: int = STEPS) -> tuple[Job, Job]:
    job = user.trains(sbatch=sbatch, options=["--standby", "true"], steps=steps)
    noted = json.loads((job.run.path / "standby.json").read_text())
    assert noted["waits_for"] == job.job_id
    standby = Job(user.bed, user.folder, noted["job_id"])
    assert standby.facts()["Reason"] == "Dependency"
    return job, standby


def test_it_goes_on_with_the_run_without_the_node_that_failed(alice: User) -> None:
    """Nothing is submitted at that moment; the job that is there begins as soon as the first has ended."""
    job, standby = _with_standby(alice, "-N3")
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.bed.kill_node(victim)
    after = alice.adopts(job.wait_successor(90))
    assert after.job_id == standby.job_id
    alice.bed.revive(victim)
    facts = after.wait_ended()
    assert (facts["JobState"], facts["ExcNodeList"]) == ("COMPLETED", victim)
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    assert alice.queue() == []


def test_where_the_run_ends_well_or_is_cancelled_it_never_begins(alice: User) -> None:
    """It is gone with the first, and has left no output."""
    job, standby = _with_standby(alice, "-N2", steps=20)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    wait_for(lambda: not alice.queue(), "the queue is empty", 30)
    job, other = _with_standby(alice, "-N2", steps=600)
    job.wait_attempt(1)
    job.cancel()
    wait_for(lambda: not alice.queue(), "the queue is empty", 60)
    assert [one.output for one in (standby, other)] == ["", ""]


def test_a_job_that_is_cancelled_before_anything_of_ours_began_ends_its_standby(alice: User) -> None:
    """Nobody was there to take it away: it begins, sees what has happened, and starts nothing."""
    job, standby = _with_standby(alice, "-N2", steps=600)
    job.wait_state("RUNNING")
    job.cancel()
    wait_for(lambda: not alice.queue(), "the queue is empty", 60)
    assert standby.output in {"", f"supervise: job {job.job_id} was cancelled: this standby ends\n"}
    assert not (alice.folder / "out" / "steps.log").exists()


def test_a_batch_host_that_dies_with_all_of_ours_is_survived(alice: User) -> None:
    """Slurm itself begins the standby, which takes the run over from what it has left on disk."""
    job, standby = _with_standby(alice, "-N2", "--no-requeue", steps=100)
    job.wait_checkpoint()
    host = job.batch_host()
    alice.bed.kill_node(host)
    after = alice.adopts(standby)
    wait_for(lambda: after.state in {"RUNNING", "COMPLETED"}, "the standby begins", 150)
    alice.bed.revive(host)
    assert after.wait_ended(150)["JobState"] == "COMPLETED"
    assert alice.result()["sha256"] == reference(100)
