"""The site's ledger as jobs of real users leave it."""

import pwd
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.init import initialised
from supervisor.ledger.site.read import read_site
from tests.e2e.user import User

pytestmark = pytest.mark.cluster


@pytest.fixture
def ledger(small_disk: Path) -> Iterator[Path]:
    """A ledger of root's on a filesystem that all nodes share."""
    root = small_disk / "ledger"
    initialised(root, [], "", now=time.time(), is_dry=False)
    yield root
    shutil.rmtree(root)


def _only(ledger: Path) -> JobHistory:
    history = read_site(ledger)
    assert not history.problems
    (found,) = history.jobs
    return found


def test_a_job_leaves_what_interrupted_it_and_what_it_used(alice: User, ledger: Path) -> None:
    """Its file is its user's, in a folder of root's; a rank that was killed is in it, and no word of her files."""
    job = alice.trains(options=["--ledger", str(ledger)], steps=150)
    job.wait_checkpoint()
    alice.kills("train.py")
    assert job.wait_ended()["JobState"] == "COMPLETED"
    found = _only(ledger)
    (path,) = ledger.glob("*.jsonl")
    assert found.owner == found.job.user == pwd.getpwuid(path.stat().st_uid).pw_name != "root"
    assert found.is_trusted
    assert (found.job.job, len(found.job.nodes)) == (job.job_id, 2)
    assert [(each.incident, each.is_closed) for each in found.incidents] == [(1, True)]
    assert found.use
    assert (found.use.end, found.use.restarts) == ("completed", 1)
    assert 0 < found.use.computing_node_s < found.use.held_node_s
    text = path.read_text()
    assert all(word not in text for word in ("train", "/", str(alice.folder)))
