"""What breaks is our own world, and not the training: the version on disk, Slurm's commands, its controller, names."""

import pytest
from story.waiting import wait_for

from tests.e2e.own_install import own_install, upgrade
from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 80
_SUPERVISOR = "supervisor.daemon"
_AGENT = "agent-"


def test_an_upgrade_in_place_does_not_reach_a_running_job(alice: User) -> None:
    """Supervisor and agents that begin after it are of the version that the job was submitted with."""
    user = User(alice.bed, alice.folder, own_install(alice.folder), alice.jobs)
    job = user.trains(sbatch=["-N3"], options=["--spares", "1"], steps=STEPS)
    job.wait_attempt(1)
    job.wait_checkpoint()
    upgrade(user.python)
    assert "another version" in user.asks("status", job.job_id).stderr
    user.kills(_SUPERVISOR)
    wait_for(lambda: len(job.run.events("supervisor_started")) == 1, "the next supervisor", 30)
    user.kills(_AGENT)
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.bed.kill_node(victim)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    assert "another version" not in job.output
    assert "installed package" not in job.output
    assert "another version" not in (job.run.path / "agent.log").read_text()
