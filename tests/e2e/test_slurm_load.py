"""What a supervised run costs slurmctld, counted by slurmctld itself."""

import time

import pytest
from story import slurm_calls
from story.waiting import wait_for

from tests.e2e.user import User

pytestmark = pytest.mark.cluster

_QUIET_S = 30.0
_BEGUN_S = 5.0
"""What belongs to the start is over."""
_CALLS_OF_AN_INCIDENT = 20


def test_a_quiet_run_leaves_slurmctld_alone(alice: User) -> None:
    """One call a minute is allowed."""
    job = alice.trains(sbatch=["-N2"], steps=2000)
    job.wait_checkpoint()
    time.sleep(_BEGUN_S)
    before = slurm_calls.of_users(alice.bed)
    time.sleep(_QUIET_S)
    assert slurm_calls.of_users(alice.bed) - before <= 1


def test_an_incident_costs_few_calls(alice: User) -> None:
    """A rank dies, the attempt ends, the next one starts: with the calls of the user's own srun."""
    job = alice.trains("--kill-at", "3:250", "--fault-attempt", "1", sbatch=["-N2"], steps=400)
    job.wait_step(200)
    before = slurm_calls.of_users(alice.bed)
    job.wait_attempt(2)
    wait_for(lambda: job.run.incidents()[-1].get("recovery_s") is not None, "ranks run again", 60)
    assert slurm_calls.of_users(alice.bed) - before <= _CALLS_OF_AN_INCIDENT
