"""Faults of ranks and programs, without a node being lost."""

import json
import shutil

import pytest
from story.job import step_of
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 45


def test_a_crashed_rank_is_started_again_in_the_allocation(alice: User) -> None:
    """Killed by a signal that explains nothing: the same nodes, the newest checkpoint, the same result."""
    job = alice.trains("--kill-at", "3:25", "--fault-attempt", "1", steps=STEPS)
    nodes = wait_for(job.nodes, "the job runs", 60)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    (incident,) = job.run.incidents()
    assert incident["action"] == "relaunch"
    assert incident["nodes_after"] == nodes
    assert incident["resumed_step"] == 20
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


def test_the_same_exception_twice_stops_the_run(alice: User) -> None:
    """The program is at fault: one more try, then the script's own exit code, and nothing is submitted."""
    job = alice.trains("--raise-at", "1:25", steps=STEPS)
    facts = job.wait_ended()
    assert (facts["JobState"], facts["ExitCode"]) == ("FAILED", "1:0")
    first, second = job.run.incidents()
    assert (first["action"], second["action"]) == ("relaunch", "stop")
    assert {incident["verdict"]["cls"] for incident in (first, second)} == {"software"}
    assert "KeyError: 'loss_mask'" in str(second["verdict"])
    assert job.run.attempts == 2
    assert alice.queue() == []
    assert "loss_mask" in alice.asks("why", job.job_id).stdout


def test_out_of_gpu_memory_is_not_tried_again(alice: User) -> None:
    """A rerun without a change would fail the same way, and says so."""
    job = alice.trains("--oom-at", "1:15", steps=STEPS)
    assert job.wait_ended()["JobState"] == "FAILED"
    (incident,) = job.run.incidents()
    verdict = incident["verdict"]
    assert (verdict["cls"], verdict["cause"], incident["action"]) == ("software", "cuda_oom", "stop")
    assert job.run.attempts == 1


def test_an_incident_is_judged_again_and_corrected(alice: User) -> None:
    """What was kept gives the supervisor's verdict again, and a person's word on it is kept beside it."""
    job = alice.trains("--raise-at", "1:15", options=["--max-restarts", "0"], steps=STEPS)
    assert job.wait_ended()["JobState"] == "FAILED"
    (incident,) = job.run.incidents()
    verdict = incident["verdict"]
    assert verdict["blame"]["ranks"] == [1]
    (again,) = json.loads(alice.asks("replay", "--json", job.job_id).stdout)["incidents"]
    assert (again["is_equal"], again["now"]["fingerprint"]) == (True, verdict["fingerprint"])
    told = json.loads(alice.asks("diagnose", "--json", f"{job.run.path}/incidents/001").stdout)
    kept = [one["source"] for one in verdict["evidence"]]
    assert (told["cause"], [one["source"] for one in told["evidence"]]) == (verdict["cause"], kept)
    assert f"Wrong? supervise feedback {job.job_id} 1" in alice.asks("diagnose", str(job.run.path)).stdout
    assert alice.asks("feedback", job.job_id, "--cause", "malformed_record").returncode == 0
    (corrected,) = json.loads(alice.asks("replay", "--json", job.job_id).stdout)["incidents"]
    assert (corrected["corrected"]["class"], corrected["agrees"]) == ("data", False)
    assert "corrected by a person: data/malformed_record" in alice.asks("why", job.job_id).stdout


def test_a_half_written_checkpoint_is_passed_over(alice: User) -> None:
    """The newest one is torn: the one before it is taken, and the torn one is left as it is."""
    torn = alice.folder / "checkpoints" / "step-000027.npz"
    job = alice.trains("--kill-at", "3:29", "--fault-attempt", "1", "--save-every", "5", steps=STEPS)
    whole = job.wait_checkpoint(after=24)
    shutil.copyfile(whole, torn)
    with torn.open("r+b") as file:
        file.truncate(1000)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    (incident,) = job.run.incidents()
    assert incident["resumed_step"] == step_of(whole) == 25
    assert torn.stat().st_size == 1000
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
