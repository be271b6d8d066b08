"""The batch host dies: an agent takes over, and nobody else does."""

import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from story.job import Job
from story.waiting import wait_for
from testbed.api import Testbed

from tests.e2e.proofs import never_two, patient
from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

BAR_S = 75.0
STEPS = 100
QUICK = ("--lease-s", "8")
FORBIDDEN = """#!/bin/sh
case $(hostname) in node*) echo "Job submission is not allowed from this host" >&2; exit 1 ;; esac
exec /usr/bin/sbatch "$@"
"""


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    """Four nodes of a Slurm that is as slow to notice as most are."""
    with Testbed(f"takeover-{os.getpid()}") as testbed:
        yield patient(testbed)


def _trains(alice: User, *options: str, nodes: int = 3, steps: int = STEPS) -> tuple[Job, str]:
    """A job with a checkpoint, and its batch host."""
    job = alice.trains(sbatch=[f"-N{nodes}"], options=options, steps=steps)
    job.wait_attempt(1)
    job.wait_checkpoint()
    return job, job.batch_host()


def _loses_power(alice: User, node: str) -> None:
    """Nobody is told: no connection is refused, none is reset."""
    alice.bed.unplug(node)
    alice.bed.kill_node(node)


def _claims(job: Job) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted((job.run.path / "takeovers").glob("*.json"))]


def _wait_over(job: Job, *, deadline_s: float = 60.0) -> str:
    """The job's state once it holds nothing but its dead node."""
    return job.wait_state("COMPLETING", "CANCELLED", deadline_s=deadline_s)


def test_with_the_usual_lease_the_successor_runs_within_the_bar(alice: User) -> None:
    """From the loss of power to a running job, where enough nodes are free."""
    job, host = _trains(alice, nodes=2, steps=5000)
    at = time.time()
    _loses_power(alice, host)
    after = alice.adopts(job.wait_successor(100.0))
    after.wait_state("RUNNING", deadline_s=30.0)
    took_s = time.time() - at
    assert took_s <= BAR_S, f"{took_s:.1f} s"
    after.wait_attempt(2)
    never_two(alice)


def test_the_run_completes_in_another_job(alice: User) -> None:
    """From the checkpoint, without the dead host, told as one interruption; of the old job nothing begins again."""
    job, host = _trains(alice, *QUICK)
    _loses_power(alice, host)
    after = alice.adopts(job.wait_successor(60.0))
    assert _wait_over(job) in {"COMPLETING", "CANCELLED"}
    facts = after.wait_ended()
    assert (facts["JobState"], facts["ExcNodeList"]) == ("COMPLETED", host)
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    (incident,) = after.run.incidents()
    assert (incident["verdict"]["cause"], incident["verdict"]["blame"]["nodes"]) == ("node_unreachable", [host])
    assert incident["action"] == "resubmit"
    assert "took over" in incident["action_text"]
    assert after.run.status["restarts"] == 1
    (claim,) = _claims(job)
    assert (claim["batch_host"], claim["successor"], len(claim["votes"])) == (host, after.job_id, 2)
    alice.bed.revive(host)
    assert job.wait_ended()["JobState"] == "CANCELLED"
    assert alice.queue() == []
    assert after.run.jobs() == [job.job_id, after.job_id]
    never_two(alice)


def test_where_sbatch_is_forbidden_slurm_starts_the_job_again(alice: User) -> None:
    """As many sites have it on their compute nodes: under the same id, never on the dead host."""
    folder = alice.folder / "bin"
    folder.mkdir()
    (folder / "sbatch").write_text(FORBIDDEN)
    (folder / "sbatch").chmod(0o755)
    env = {"PYTHON": str(alice.python), "PATH": f"{folder}:/usr/bin:/bin"}
    words = ["-N2", "train.sbatch", "--steps", "5000", "--step-seconds", "0.1", "--out", "out"]
    job = alice.supervised(*words, options=[*QUICK, "--checkpoint", f"{alice.folder}/checkpoints"], env=env)
    job.wait_attempt(1)
    host = job.batch_host()
    _loses_power(alice, host)
    _wait_over(job)
    alice.bed.revive(host)
    job.wait_state("PENDING")
    facts = job.facts()
    assert (facts["Restarts"], facts["ExcNodeList"]) == ("1", host)
    assert [claim["is_requeued"] for claim in _claims(job)] == [True]
    assert alice.queue() == [job.job_id]
    assert job.run.jobs() == [job.job_id]


def test_a_halt_that_came_too_late_for_the_supervisor_is_obeyed(alice: User) -> None:
    """Nobody goes on with the run, and its nodes are free."""
    job, host = _trains(alice, *QUICK, nodes=2)
    _loses_power(alice, host)
    alice.asks("halt", "--now", job.job_id)
    assert _wait_over(job) in {"COMPLETING", "CANCELLED"}
    assert _claims(job) == []
    assert job.run.jobs() == [job.job_id]


def test_in_observe_mode_nobody_takes_over(alice: User) -> None:
    """Nor is the job cancelled: it stays what it would be without us."""
    job, host = _trains(alice, *QUICK, "--mode", "observe", nodes=2)
    _loses_power(alice, host)
    log = job.run.path / "takeover.log"
    wait_for(lambda: log.exists() and "mode observe" in log.read_text(), "the agent says why not", 60)
    assert job.state == "RUNNING"
    assert _claims(job) == []
    assert job.run.jobs() == [job.job_id]


def test_a_batch_host_that_comes_back_finds_that_it_is_over(alice: User) -> None:
    """It was only cut off, from the network and from the run folder: its ranks end before the successor's begin."""
    job, host = _trains(alice, *QUICK, nodes=2, steps=5000)
    folder = str(job.run.path)
    alice.bed.exec(host, ["mount", "-t", "tmpfs", "-o", "mode=500", "none", folder])
    try:
        alice.bed.unplug(host)
        wait_for(lambda: _ranks(alice, host) == 0, f"{host} ends its ranks", 60)
        after = alice.adopts(job.wait_successor(60.0))
        after.wait_attempt(2)
    finally:
        alice.bed.exec(host, ["umount", "-l", folder])
        alice.bed.plug(host)
    after.wait_step(int(after.wait_checkpoint().stem[-6:]) + 20)
    assert _ranks(alice, host) == 0
    # slurmctld tells the host of the end again two minutes later; until then the old job is COMPLETING there.
    assert job.state in {"COMPLETING", "CANCELLED"}
    assert after.state == "RUNNING"
    never_two(alice)


def test_a_frozen_batch_host_wakes_up_to_the_claim(alice: User) -> None:
    """A machine that slept through the takeover: nothing of it goes on beside the successor."""
    job, host = _trains(alice, *QUICK, nodes=2, steps=5000)
    alice.bed.unplug(host)
    _to_all(alice, host, "STOP")
    try:
        after = alice.adopts(job.wait_successor(60.0))
        after.wait_attempt(2)
    finally:
        _to_all(alice, host, "CONT")
    wait_for(lambda: _ranks(alice, host) == 0, f"{host} ends its ranks", 60)
    alice.bed.plug(host)
    after.wait_step(int(after.wait_checkpoint().stem[-6:]) + 20)
    assert job.state in {"COMPLETING", "CANCELLED"}
    assert after.state == "RUNNING"
    never_two(alice)


def _ranks(user: User, node: str) -> int:
    """Processes of the trainer on this node."""
    return int(user.bed.exec(node, ["sh", "-c", "pgrep -fc [t]rain.py || true"]).stdout)


def _to_all(user: User, node: str, number: str) -> None:
    """A signal to all that alice runs on the node, and to Slurm there."""
    user.bed.exec(
        node, ["sh", "-c", f"pkill -{number} -u alice; pkill -{number} slurmstepd; pkill -{number} slurmd; :"]
    )
