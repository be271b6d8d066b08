"""Jobs that wait for a run's end: they follow it to the next job, or the job keeps its id."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from story.job import Job
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 60


def _lose_a_node(user: User, job: Job) -> str:
    """One that the script does not run on, once there is a checkpoint to go on from."""
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    user.bed.kill_node(victim)
    return victim


def _waits(user: User, job: Job, kind: str, *options: str) -> Job:
    on = f"--dependency={kind}" if kind == "singleton" else f"--dependency={kind}:{job.job_id}"
    return user.plain("-N1", on, *options, "--wrap", "date +%s.%N")


def test_they_follow_the_run_to_the_next_job(alice: User) -> None:
    """Whatever end they wait for is the run's: none starts in its midst, and the one for its failure never."""
    job = alice.trains(sbatch=["-N3", "-J", "train"], steps=STEPS)
    well, ill = _waits(alice, job, "afterok"), _waits(alice, job, "afternotok")
    over, chain = _waits(alice, job, "afterany"), _waits(alice, job, "singleton", "-J", "train")
    victim = _lose_a_node(alice, job)
    after = alice.adopts(job.wait_successor(90))
    alice.bed.revive(victim)
    job.wait_ended()
    (event,) = job.run.events("submitted")
    followers = [one.job_id for one in (well, ill, over, chain)]
    assert sorted(event["moved"], key=int) == followers
    assert re.search(rf"goes on with the run.*; jobs [\d, ]*{chain.job_id}[\d, ]* wait for it now", job.output)
    assert {one.state for one in (well, ill, over, chain)} == {"PENDING"}
    assert after.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    for one in (well, over, chain):
        assert one.wait_ended()["JobState"] == "COMPLETED"
    assert ill.facts()["Reason"] == "DependencyNeverSatisfied"
    ill.cancel()


def test_where_sbatch_waits_the_job_keeps_its_id(alice: User) -> None:
    """`sbatch --wait` hears of the end of the job that it submitted, and of no other."""
    words = [str(alice.python.with_name("supervise")), "--checkpoint", f"{alice.folder}/checkpoints", "sbatch"]
    trainer = ["train.sbatch", "--steps", str(STEPS), "--step-seconds", "0.1", "--out", "out"]
    with ThreadPoolExecutor(1) as pool:
        argv = [*words, "--wait", "--requeue", "-N3", *trainer]
        done = pool.submit(alice.bed.run, argv, cwd=alice.folder, env={"PYTHON": str(alice.python)}, check=False)
        (job_id,) = wait_for(alice.queue, "the job", 30)
        job = alice.adopts(Job(alice.bed, alice.folder, job_id))
        try:
            victim = _lose_a_node(alice, job)
            job.wait_output("sbatch --wait waits for this very job: asking Slurm to start it again")
            alice.bed.revive(victim)
            job.wait_state("PENDING", deadline_s=90)
            assert job.run.jobs() == [job_id]
            assert not done.done()
        finally:
            job.cancel()
        done.result(60)


def test_where_another_user_waits_the_job_keeps_its_id(alice: User) -> None:
    """Nobody but that user can move it: Slurm starts the same job again, without the node, and nothing beside it."""
    job = alice.trains(sbatch=["-N3", "--requeue"], steps=STEPS)
    options = ["--parsable", "-N1", f"--dependency=afterok:{job.job_id}", "-o", "/dev/null", "--wrap", "true"]
    other = alice.bed.run(["sbatch", *options], user="root", cwd=alice.folder).stdout.strip()
    try:
        victim = _lose_a_node(alice, job)
        job.wait_output("waits for the end of this very job; asking Slurm to start this job again")
        wait_for(lambda: any(event["ok"] for event in job.run.events("requeued")), "a requeue", 60)
        alice.bed.revive(victim)
        job.wait_state("PENDING", deadline_s=90)
        facts = job.facts()
        assert (facts["ExcNodeList"], facts["Restarts"]) == (victim, "1")
        assert alice.queue() == [job.job_id]
        assert Job(alice.bed, alice.folder, other).facts()["Dependency"].startswith(f"afterok:{job.job_id}")
    finally:
        alice.bed.run(["scancel", other], user="root")
