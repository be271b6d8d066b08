"""A node is lost: the job goes on on a spare, or as another job without it."""

from pathlib import Path

import pytest
from story.job import step_of
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 100
SPARE = ("--spares", "1")


def _victim(user: User) -> str:
    """A node that ranks run on and the script does not, once there is a checkpoint to go on from."""
    job = user.jobs[-1]
    job.wait_attempt(1)
    job.wait_checkpoint()
    return next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())


@pytest.mark.parametrize("transport", ["mqtt", "stdout"])
def test_a_killed_node_is_replaced_by_the_spare(alice: User, transport: str) -> None:
    """Same job, without the node; from the newest checkpoint; the result is that of an undisturbed run."""
    job = alice.trains(sbatch=["-N3"], options=[*SPARE, "--transport", transport], steps=STEPS)
    victim = _victim(alice)
    alice.bed.kill_node(victim)
    job.wait_attempt(2)
    assert job.run.status["transport"] == transport
    nodes = wait_for(lambda: victim not in (shown := job.nodes()) and shown, f"{victim} leaves the job", 30)
    assert len(nodes) == 3
    assert job.wait_ended()["JobState"] == "COMPLETED"
    (incident,) = job.run.incidents()
    assert (incident["verdict"]["cls"], incident["verdict"]["cause"]) == ("hardware", "node_unreachable")
    assert incident["verdict"]["blame"]["nodes"] == [victim]
    assert incident["action"] == "relaunch_on_spare"
    assert incident["resumed_step"] == step_of(_path(incident))
    assert incident["is_closed"]
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


def test_an_unplugged_node_kills_its_ranks_and_is_not_used_again(alice: User) -> None:
    """Its ranks end by the lease, though nobody can reach them; plugged in again it takes no part."""
    job = alice.trains(sbatch=["-N3"], options=[*SPARE, "--lease-s", "30"], steps=600)
    victim = _victim(alice)
    alice.bed.unplug(victim)
    job.wait_attempt(2)
    ranks = "pgrep -fc [t]rain.py || true"
    wait_for(lambda: alice.bed.exec(victim, ["sh", "-c", ranks]).stdout.strip() == "0", "the node fences itself", 60)
    alice.bed.plug(victim)
    step = job.wait_step(1)
    job.wait_step(step + 30)
    assert alice.bed.exec(victim, ["sh", "-c", ranks]).stdout.strip() == "0"
    assert victim not in job.nodes()
    assert job.run.attempts == 2
    job.cancel()


def test_without_a_spare_another_job_goes_on_without_the_node(alice: User) -> None:
    """The successor has the run's folder, excludes the node, resumes from the checkpoint and completes."""
    job = alice.trains(sbatch=["-N3"], steps=STEPS)
    victim = _victim(alice)
    alice.bed.kill_node(victim)
    job.wait_ended()
    successor = wait_for(lambda: [found for found in alice.queue() if found != job.job_id], "a successor", 60)
    after = alice.adopts(successor[0])
    facts = after.wait_ended()
    assert facts["JobState"] == "COMPLETED"
    assert facts["ExcNodeList"] == victim
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    assert alice.queue() == []
    assert [incident["action"] for incident in after.run.incidents()] == ["resubmit"]


def _path(incident: dict[str, str]) -> Path:
    return Path(incident["resumed_from"])
