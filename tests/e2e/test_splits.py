"""A part cannot hear another part: it ends with one live attempt or none, never two, and a healthy run goes on."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from story.job import Job
from story.waiting import wait_for
from testbed.api import Testbed

from tests.e2e.proofs import never_interrupted, never_two, patient, steps
from tests.e2e.user import User

pytestmark = pytest.mark.cluster

LEASE_S = 6
QUICK = ("--lease-s", str(LEASE_S))
THROUGH_S = 4 * LEASE_S
"""Longer than any agent waits before it votes."""


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    """Four nodes of a Slurm that does not end the job by itself meanwhile."""
    with Testbed(f"splits-{os.getpid()}") as testbed:
        yield patient(testbed)


def _trains(alice: User, nodes: int, *options: str) -> Job:
    job = alice.trains(sbatch=[f"-N{nodes}"], options=[*QUICK, *options], steps=5000)
    job.wait_attempt(1)
    job.wait_checkpoint()
    return job


def _addresses(bed: Testbed) -> dict[str, str]:
    shown = bed.run(["scontrol", "-o", "show", "node"]).stdout.splitlines()
    facts = (dict(word.split("=", 1) for word in line.split() if "=" in word) for line in shown)
    return {each["NodeName"]: each["NodeAddr"] for each in facts}


@contextmanager
def _apart(bed: Testbed, ones: list[str], others: list[str]) -> Iterator[None]:
    """No packet passes between these nodes and those; all of them reach slurmctld."""
    addresses = _addresses(bed)
    try:
        for here, there in ((ones, others), (others, ones)):
            for node in here:
                for other in there:
                    bed.exec(node, ["ip", "route", "add", "blackhole", f"{addresses[other]}/32"])
        yield
    finally:
        for here, there in ((ones, others), (others, ones)):
            for node in here:
                for other in there:
                    bed.exec(node, ["ip", "route", "del", "blackhole", f"{addresses[other]}/32"], check=False)


@contextmanager
def _frozen(alice: User, *words: str) -> Iterator[None]:
    """By words in their command lines: alice's own processes have the test's name in theirs."""
    pids = alice.kills(*words, number=signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _goes_on(alice: User, job: Job) -> None:
    """The same attempt makes further steps, and has made all of them."""
    job.wait_step(steps(alice)[-1][0] + 10)
    never_interrupted(alice)
    assert job.run.jobs() == [job.job_id]
    assert not (job.run.path / "takeovers").exists()
    assert job.state == "RUNNING"


def _at_most_one_lives(alice: User) -> None:
    """One job at most holds ranks in the end, and its attempt is the newest that ever made a step."""
    never_two(alice)
    running = alice.bed.run(["squeue", "--me", "-h", "-t", "R", "-o", "%A"]).stdout.split()
    assert len(running) <= 1


def test_a_lost_broker_alone_ends_nothing(alice: User) -> None:
    """The term is renewed, and the batch host's slurmd answers: three leases without a word on the bus."""
    job = _trains(alice, 3)
    with _frozen(alice, "mosquitto"):
        time.sleep(THROUGH_S)
    _goes_on(alice, job)


def test_slurm_away_alone_ends_nothing(alice: User) -> None:
    """An upgrade, a restart, a fail-over: nobody needs it while the run is healthy."""
    job = _trains(alice, 3)
    with _frozen(alice, "slurmctld"):
        time.sleep(THROUGH_S)
    _goes_on(alice, job)


def test_a_dead_supervisor_on_a_living_host_is_not_taken_over(alice: User) -> None:
    """The keeper starts another one; until then slurmd answers for the host."""
    job = _trains(alice, 3)
    with _frozen(alice, "supervisor.daemon"):
        time.sleep(LEASE_S)
    _goes_on(alice, job)


def test_a_run_folder_that_a_node_has_lost_alone_ends_nothing(alice: User) -> None:
    """The bus is heard."""
    job = _trains(alice, 3)
    node = next(node for node in job.attempt_nodes() if node != job.batch_host())
    folder = str(job.run.path)
    alice.bed.exec(node, ["mount", "-t", "tmpfs", "-o", "mode=500", "none", folder])
    try:
        time.sleep(THROUGH_S)
        _goes_on(alice, job)
    finally:
        alice.bed.exec(node, ["umount", "-l", folder])


def test_the_batch_host_dies_while_slurm_is_away(alice: User) -> None:
    """Nobody can submit, nothing is claimed; once it answers, one successor goes on."""
    job = _trains(alice, 2)
    host = job.batch_host()
    with _frozen(alice, "slurmctld"):
        alice.bed.unplug(host)
        alice.bed.kill_node(host)
        time.sleep(THROUGH_S)
        assert job.run.jobs() == [job.job_id]
    after = alice.adopts(job.wait_successor(90.0))
    after.wait_attempt(2)
    after.wait_step(steps(alice)[-1][0] + 10)
    assert job.run.jobs() == [job.job_id, after.job_id]
    _at_most_one_lives(alice)


def test_one_node_cut_off_from_the_others_is_replaced(alice: User) -> None:
    """Its ranks end by Slurm, which reaches it; the run goes on on the spare."""
    job = _trains(alice, 3, "--spares", "1")
    host = job.batch_host()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != host)
    with _apart(alice.bed, [victim], [node for node in job.nodes() if node != victim]):
        job.wait_attempt(2)
        job.wait_step(steps(alice)[-1][0] + 10)
    assert job.run.jobs() == [job.job_id]
    _at_most_one_lives(alice)


def test_half_of_the_nodes_cut_off_from_the_other_half(alice: User) -> None:
    """The half without the batch host sees its term renewed, and takes nothing over; the other half decides."""
    job = _trains(alice, 4)
    host = job.batch_host()
    nodes = job.nodes()
    far = [node for node in nodes if node != host][:2]
    with _apart(alice.bed, far, [node for node in nodes if node not in far]):
        wait_for(job.run.incidents, "the loss is noticed", 60)
        time.sleep(THROUGH_S)
        assert not (job.run.path / "takeovers").exists()
        _at_most_one_lives(alice)
    _settles(alice, job)


def test_the_batch_host_cut_off_from_all_agents_is_not_taken_over(alice: User) -> None:
    """It renews its term and reaches Slurm: whatever it decides, no agent decides beside it."""
    job = _trains(alice, 3)
    host = job.batch_host()
    with _apart(alice.bed, [host], [node for node in job.nodes() if node != host]):
        time.sleep(THROUGH_S)
        assert not (job.run.path / "takeovers").exists()
        _at_most_one_lives(alice)
    _settles(alice, job)


def test_the_batch_host_and_another_node_at_once(alice: User) -> None:
    """Two of four are left, two of three agents: they take over, and the run goes on once there are nodes enough."""
    job = _trains(alice, 4, "--min-nodes", "2")
    host = job.batch_host()
    other = next(node for node in job.nodes() if node != host)
    for node in (host, other):
        alice.bed.unplug(node)
        alice.bed.kill_node(node)
    after = alice.adopts(job.wait_successor(60.0))
    for node in (host, other):
        alice.bed.revive(node)
    _settles(alice, after)


def test_without_a_majority_nobody_takes_over(alice: User) -> None:
    """Two nodes of three at once: the last one waits for Slurm's word, and kills its own ranks."""
    job = _trains(alice, 3)
    host = job.batch_host()
    other, last = [node for node in job.nodes() if node != host]
    for node in (host, other):
        alice.bed.unplug(node)
        alice.bed.kill_node(node)
    log = job.run.path / "takeover.log"
    wait_for(lambda: log.exists() and "alone" in log.read_text(), "the last one asks", 60)
    assert job.run.jobs() == [job.job_id]
    assert alice.bed.exec(last, ["sh", "-c", "pgrep -fc [t]rain.py || true"]).stdout.strip() == "0"
    never_two(alice)


def _settles(alice: User, job: Job) -> None:
    """The newest job of the run makes steps, or none runs any more: never more than one."""

    def is_settled() -> bool:
        newest = Job(alice.bed, alice.folder, job.run.jobs()[-1])
        made = steps(alice)[-1][0]
        time.sleep(3)
        return (newest.state == "RUNNING" and steps(alice)[-1][0] > made) or not alice.queue()

    wait_for(is_settled, "the run goes on or is over", 150)
    _at_most_one_lives(alice)
