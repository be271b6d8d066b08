"""What a supervised run costs slurmctld, counted by slurmctld itself."""

import re
import time

import pytest
from story.waiting import wait_for

from tests.e2e.user import User

pytestmark = pytest.mark.cluster

_BY_USER = re.compile(r"^\s*(\S+)\s*\(\s*(\d+)\s*\)\s*count:(\d+)", re.MULTILINE)
_QUIET_S = 30.0
_CALLS_OF_AN_INCIDENT = 20


def _calls(user: User) -> int:
    """All RPCs of the ordinary user since slurmctld counts; whoever asks, root's own are left out."""
    told = user.bed.run(["sdiag"]).stdout
    _, _, by_user = told.partition("statistics by user")
    counts = {name: int(count) for name, _, count in _BY_USER.findall(by_user)}
    assert counts, told
    return sum(count for name, count in counts.items() if name != "root")


def test_a_quiet_run_leaves_slurmctld_alone(alice: User) -> None:
    """None while all is well. What the test asks itself is known: sdiag, once."""
    job = alice.trains(sbatch=["-N2"], steps=2000)
    job.wait_attempt(1)
    job.wait_checkpoint()
    time.sleep(5)  # what belongs to the start
    before = _calls(alice)
    nothing = _calls(alice) - before
    time.sleep(_QUIET_S)
    assert _calls(alice) - before - 2 * nothing <= 1


def test_an_incident_costs_few_calls(alice: User) -> None:
    """A rank dies, the attempt ends, the next one starts: with the user's own srun."""
    job = alice.trains(sbatch=["-N2"], options=["--checkpoint", f"{alice.folder}/checkpoints"], steps=400)
    job.wait_attempt(1)
    job.wait_checkpoint()
    time.sleep(5)
    before = _calls(alice)
    nothing = _calls(alice) - before
    alice.kills("train.py")
    job.wait_attempt(2)
    wait_for(lambda: job.run.incidents()[-1].get("recovery_s") is not None, "ranks run again", 60)
    assert _calls(alice) - before - 2 * nothing <= _CALLS_OF_AN_INCIDENT
