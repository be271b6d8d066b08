"""`supervise drill` on the cluster: real faults, judged by what was injected."""

import json

import pytest

from tests.e2e.user import User

pytestmark = pytest.mark.cluster


def test_a_drill_tells_how_faults_were_handled(alice: User) -> None:
    """A helper, a rank and the program, one after the other in one job; nothing is left but the drill's folder."""
    faults = ("agent_killed", "rank_killed", "exception")
    done = alice.asks("drill", "--json", *(word for fault in faults for word in ("--fault", fault)), "-N2")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    told = json.loads(done.stdout)
    assert told["conclusion"].startswith("OK: 3 of 3 faults handled as they should be")
    helper, rank, program = told["faults"]
    assert (helper["incident"], helper["back_s"] > 0) == (None, True)
    assert (rank["injected"]["rank"], rank["blame"]["ranks"], rank["isolation"]) == (3, [3], "rank")
    assert 0 < rank["detection_s"] < rank["back_s"] < 60
    assert rank["split"]["catch_up"] is not None
    assert (program["cause"], program["action"]) == ("python_exception", "relaunch")
    assert alice.queue() == []
    assert alice.pids("trainer.py") == []


def test_a_users_run_is_drilled_with_consent_alone(alice: User) -> None:
    """Without it nothing is done; with it a rank dies, and the run goes on to the same end."""
    job = alice.trains(steps=150)
    job.wait_checkpoint()
    refused = alice.asks("drill", "--run", job.job_id, "--fault", "rank_killed")
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    done = alice.asks("drill", "--run", job.job_id, "--fault", "rank_killed", "--yes", "--json")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (fault,) = json.loads(done.stdout)["faults"]
    assert fault["is_handled"]
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert [incident["incident"] for incident in job.run.incidents()] == [fault["incident"]] == [1]
