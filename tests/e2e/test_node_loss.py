"""A node is lost: the job goes on on a spare, or as another job without it."""

from pathlib import Path

import pytest
from story.job import step_of
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 60
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
    wait_for(lambda: len(nodes := job.nodes()) == 3 and victim not in nodes, f"{victim} leaves the job", 30)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    (incident,) = job.run.incidents()
    assert (incident["verdict"]["cls"], incident["verdict"]["cause"]) == ("hardware", "node_unreachable")
    assert incident["verdict"]["blame"]["nodes"] == [victim]
    assert incident["action"] == "relaunch_on_spare"
    assert incident["resumed_step"] == step_of(_path(incident))
    assert incident["is_closed"]
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


def _ranks(user: User, node: str) -> int:
    """Processes of the trainer on this node."""
    return int(user.bed.exec(node, ["sh", "-c", "pgrep -fc [t]rain.py || true"]).stdout)


def test_an_unplugged_node_that_comes_back_takes_no_part(alice: User) -> None:
    """Its old ranks end, nothing is started again, the run goes on as it was."""
    job = alice.trains(sbatch=["-N3"], options=SPARE, steps=150)
    victim = _victim(alice)
    alice.bed.unplug(victim)
    job.wait_attempt(2)
    assert victim not in job.nodes()
    alice.bed.plug(victim)
    wait_for(lambda: _ranks(alice, victim) == 0, f"the old ranks on {victim} end", 60)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": 150, "sha256": reference(150), "attempt": 2}
    assert [incident["action"] for incident in job.run.incidents()] == ["relaunch_on_spare"]


def test_a_node_that_reaches_nobody_kills_its_own_ranks(alice: User) -> None:
    """Without network and without the shared filesystem it ends them by the lease, while the run goes on elsewhere."""
    job = alice.trains(sbatch=["-N3"], options=[*SPARE, "--lease-s", "10"], steps=900)
    victim = _victim(alice)
    # The testbed's shared folders need no network; another filesystem on top takes them away from this node alone.
    alice.bed.exec(victim, ["mount", "-t", "tmpfs", "none", str(alice.folder)])
    try:
        alice.bed.unplug(victim)
        job.wait_attempt(2)
        assert _ranks(alice, victim) == 2
        wait_for(lambda: _ranks(alice, victim) == 0, f"{victim} ends its ranks", 90)
    finally:
        alice.bed.exec(victim, ["umount", "-l", str(alice.folder)])
        alice.bed.plug(victim)
    assert job.run.attempts == 2
    assert job.state == "RUNNING"
    job.cancel()


def test_without_a_spare_another_job_goes_on_without_the_node(alice: User) -> None:
    """The successor has the run's folder, excludes the node, resumes from the checkpoint and completes."""
    job = alice.trains(sbatch=["-N3"], steps=STEPS)
    victim = _victim(alice)
    alice.bed.kill_node(victim)
    after = alice.adopts(job.wait_successor())
    alice.bed.revive(victim)  # healthy again, and still not used
    facts = after.wait_ended()
    assert facts["JobState"] == "COMPLETED"
    assert facts["ExcNodeList"] == victim
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    assert after.run.jobs() == [job.job_id, after.job_id]
    assert [incident["action"] for incident in after.run.incidents()] == ["resubmit"]


def test_a_node_that_a_constrained_job_cannot_do_without_is_not_excluded(alice: User) -> None:
    """Four nodes are enough for three, but only three have the feature: excluding one would wait for ever."""
    featured = sorted(alice.bed.node_states())[:3]
    _feature(alice, featured, "big")
    try:
        job = alice.trains(sbatch=["-N3", "--constraint=big"], steps=STEPS)
        victim = _victim(alice)
        alice.bed.kill_node(victim)
        after = alice.adopts(job.wait_successor())
        alice.bed.revive(victim)
        facts = after.wait_ended()
    finally:
        _feature(alice, featured, "")
    assert facts["ExcNodeList"] in {"", "(null)"}
    assert facts["JobState"] == "COMPLETED"
    assert alice.result()["step"] == STEPS


def _feature(alice: User, nodes: list[str], name: str) -> None:
    for node in nodes:
        words = [f"NodeName={node}", f"AvailableFeatures={name}", f"ActiveFeatures={name}"]
        alice.bed.exec(node, ["scontrol", "update", *words])


def _path(incident: dict[str, str]) -> Path:
    return Path(incident["resumed_from"])
