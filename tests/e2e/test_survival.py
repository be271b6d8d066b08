"""Our own processes die, freeze or cannot write: the job does not notice."""

import signal
from pathlib import Path

import pytest
from story.job import Job
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 80
_SUPERVISOR = "supervisor.daemon"
_AGENT = "agent-"
"""Part of the name of the file that an agent is started with."""


def _completes_untouched(user: User, job: Job, steps: int = STEPS) -> None:
    """One attempt from the first step to the last, no incident, nothing left on any node."""
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert job.run.attempts == 1
    assert len(job.run.events("attempt_started")) == 1
    assert job.run.incidents() == []
    assert user.result() == {"step": steps, "sha256": reference(steps), "attempt": 1}
    for words in ("train.py", _SUPERVISOR, _AGENT, "mosquitto"):
        user.wait_gone(words)


def _training(user: User, *options: str, steps: int = STEPS) -> Job:
    job = user.trains(options=options, steps=steps)
    job.wait_attempt(1)
    job.wait_checkpoint()
    return job


def test_a_killed_supervisor_adopts_the_running_attempt(alice: User) -> None:
    """The next one goes on from the event log: no second launch, and it still notices what happens."""
    job = _training(alice)
    alice.kills(_SUPERVISOR)
    wait_for(lambda: len(job.run.events("supervisor_started")) == 1, "the next supervisor", 30)
    alice.kills(_SUPERVISOR)
    wait_for(lambda: len(job.run.events("supervisor_started")) == 2, "the one after", 30)
    _completes_untouched(alice, job)


def test_a_fault_after_a_supervisors_death_is_handled_by_the_next(alice: User) -> None:
    """It knows the attempt, its nodes and the spare."""
    job = alice.trains(sbatch=["-N3"], options=["--spares", "1"], steps=STEPS)
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.kills(_SUPERVISOR)
    alice.bed.kill_node(victim)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    (incident,) = job.run.incidents()
    assert (incident["verdict"]["blame"]["nodes"], incident["action"]) == ([victim], "relaunch_on_spare")
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


def test_a_supervisor_killed_amid_a_recovery_ends_it(alice: User) -> None:
    """Whatever the old one had begun, there is exactly one attempt after it."""
    job = alice.trains(sbatch=["-N3"], options=["--spares", "1"], steps=STEPS)
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.bed.kill_node(victim)
    job.wait_output("does not answer")
    alice.kills(_SUPERVISOR)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert [event["attempt"] for event in job.run.events("attempt_started")] == [1, 2]
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


def test_a_killed_broker_comes_back(alice: User) -> None:
    """Beats arrive again, no node is taken for lost."""
    job = _training(alice)
    first = alice.kills("mosquitto")
    wait_for(lambda: set(alice.pids("mosquitto")) - set(first), "another broker", 30)
    step = job.wait_step(0)
    wait_for(lambda: (job.run.status.get("step") or 0) > step, "beats through the new broker", 60)
    _completes_untouched(alice, job)


def test_a_killed_agent_comes_back(alice: User) -> None:
    """The node is probed, lives, and gets another agent; its ranks run on."""
    job = _training(alice)
    node = next(node for node in job.attempt_nodes() if node != job.batch_host())
    pids = alice.bed.exec(node, ["pgrep", "-f", _AGENT]).stdout.split()
    assert pids
    alice.bed.exec(node, ["kill", "-KILL", *pids])
    wait_for(lambda: alice.bed.exec(node, ["pgrep", "-f", _AGENT], check=False).stdout, f"an agent on {node}", 60)
    _completes_untouched(alice, job)


def test_a_node_whose_agent_has_died_proves_the_stop_through_a_new_one(alice: User) -> None:
    """A rank crashes elsewhere a moment later: the node is healthy, it stays in the job and in the next attempt."""
    job = alice.trains("--kill-at", "1:45", "--fault-attempt", "1", options=["--on-rank-exit", "any"], steps=STEPS)
    job.wait_attempt(1)
    nodes = job.attempt_nodes()
    node = next(node for node in nodes if node != job.batch_host())
    job.wait_step(35)
    alice.bed.exec(node, ["kill", "-KILL", *alice.bed.exec(node, ["pgrep", "-f", _AGENT]).stdout.split()])
    assert job.wait_ended()["JobState"] == "COMPLETED"
    (incident,) = job.run.incidents()
    assert (incident["action"], incident["nodes_after"]) == ("relaunch", nodes)
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


@pytest.mark.parametrize("what", [_SUPERVISOR, _AGENT, "mosquitto"])
def test_what_is_frozen_does_not_hold_the_job(alice: User, what: str) -> None:
    """SIGSTOP just before the end: the job still ends by itself, with its result, and nothing stays behind."""
    job = _training(alice, steps=60)
    job.wait_step(50)
    alice.kills(what, number=signal.SIGSTOP)
    _completes_untouched(alice, job, 60)


def test_a_full_run_folder_does_not_stop_the_training(alice: User, small_disk: Path) -> None:
    """From some moment on nothing can be written where the run is kept: the job goes on and ends as it would have."""
    trainer = ["--steps", "60", "--step-seconds", "0.1", "--out", "out"]
    env = {"PYTHON": str(alice.python), **_home(small_disk)}
    job = alice.supervised("-N2", "train.sbatch", *trainer, env=env)
    job.wait_checkpoint()
    ballast = small_disk / "ballast"
    alice.bed.run(["sh", "-c", f"cat /dev/zero > {ballast} 2>/dev/null; true"])
    try:
        assert job.wait_ended()["JobState"] == "COMPLETED"
        assert alice.result() == {"step": 60, "sha256": reference(60), "attempt": 1}
    finally:
        ballast.unlink()


def test_a_job_whose_run_folder_cannot_be_made_is_plain_sbatchs(alice: User, small_disk: Path) -> None:
    """It is submitted as it is, and the user is told so."""
    ballast = small_disk / "ballast"
    alice.bed.run(["sh", "-c", f"cat /dev/zero > {ballast} 2>/dev/null; true"])
    try:
        job = alice.supervised("-N2", "--wrap", "echo supervised: ${SUPERVISE_ATTEMPT:-no}", env=_home(small_disk))
    finally:
        ballast.unlink()
    assert "WARNING" in job.said
    assert "WITHOUT supervision" in job.said
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert job.output == "supervised: no\n"


def _home(disk: Path) -> dict[str, str]:
    return {"SUPERVISE_HOME": str(disk / "runs")}
