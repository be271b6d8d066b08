"""What a person orders of a job that runs on the cluster."""

import pytest
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster


def test_a_run_is_halted_after_its_next_checkpoint(alice: User) -> None:
    """The ranks save and stop, the nodes are free, and the run goes on later as if nothing had been."""
    job = alice.trains(steps=300)
    job.wait_checkpoint()
    done = alice.asks("halt", "--why", "store moves", job.job_id)
    assert done.returncode == 0, done.stderr
    assert "after its next checkpoint" in done.stdout
    job.wait_ended(60)
    assert "halted by" in job.output
    assert "step 300 " not in job.output
    assert job.run.attempts == 1
    assert not alice.queue()
    assert alice.asks("halt", "--now", job.job_id).returncode == 1
    again = alice.trains(steps=300)
    again.wait_ended(120)
    assert alice.result()["sha256"] == reference(300)


def test_a_run_is_halted_at_once(alice: User) -> None:
    """And nothing is left of it on any node."""
    job = alice.trains(steps=600)
    job.wait_checkpoint()
    assert alice.asks("exclude", job.job_id, job.nodes()[-1]).returncode == 0
    assert alice.asks("halt", "--now", job.job_id).returncode == 0
    job.wait_ended(60)
    wait_for(lambda: not alice.queue(), "the queue is empty", 60)
    alice.wait_gone("train.py")
    why = alice.why(job)
    assert "halted by" in why["conclusion"]
    assert job.run.events("submitted") == []


def test_a_run_that_is_only_observed_is_acted_upon_again(alice: User) -> None:
    """The mode changes while ranks run."""
    job = alice.trains("--exit-at", "1:60", "--fault-attempt", "1", options=["--mode", "observe"], steps=200)
    job.wait_attempt(1)
    wait_for(lambda: alice.asks("mode", "act", job.job_id).returncode == 0, "the mode is changed", 30)
    job.wait_attempt(2)
    job.wait_ended(120)
    assert alice.result()["sha256"] == reference(200)
