"""The node-killed story on newer Slurm with newer Python, each in the root of its own Debian release."""

import os
from collections.abc import Iterator

import pytest
from story import release_env
from story.waiting import wait_for
from testbed.api import Testbed

from tests.e2e.user import User, reference

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]  # the first use of a release makes its root

STEPS = 100


@pytest.fixture(params=["trixie", "forky"])
def away(request: pytest.FixtureRequest) -> Iterator[Testbed]:
    """Four nodes of another release."""
    with Testbed(f"e2e-{os.getpid()}-{request.param}") as bed:
        binds = [folder for folder in [release_env.CERTIFICATES] if folder.exists()]
        yield bed.up(nodes=4, release=request.param, binds=binds)


@pytest.fixture
def alice(away: Testbed) -> User:
    """An ordinary user there."""
    return User.arrives(away, "train", release_env.environment(away))


def test_a_killed_node_is_replaced_by_the_spare(alice: User) -> None:
    """Same job, without the node, from the newest checkpoint, with the same result."""
    job = alice.trains(sbatch=["-N3"], options=["--spares", "1"], steps=STEPS)
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.bed.kill_node(victim)
    wait_for(lambda: len(nodes := job.nodes()) == 3 and victim not in nodes, f"{victim} leaves the job", 60)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    (incident,) = job.run.incidents()
    assert (incident["verdict"]["cls"], incident["verdict"]["cause"]) == ("hardware", "node_unreachable")
    assert (incident["verdict"]["blame"]["nodes"], incident["action"]) == ([victim], "relaunch_on_spare")
    result = alice.result()
    assert (result["step"], result["attempt"]) == (STEPS, 2)
    assert result["sha256"] == reference(STEPS)
