"""One Slurm of four nodes for all stories, an ordinary user's folder for each, and the tale of what went wrong."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from checks import crashed
from testbed.api import Testbed

from tests.e2e.user import User

_IDLE_S = 120.0
_WELL = ("idle", "mixed", "alloc", "comp")
_SMALL_BYTES = 12_000_000
PREEMPTION = (
    "PreemptType=preempt/partition_prio",
    "PreemptMode=REQUEUE",
    "PartitionName=cancels Nodes=ALL PriorityTier=1 PreemptMode=CANCEL",
    "PartitionName=graces Nodes=ALL PriorityTier=1 PreemptMode=CANCEL GraceTime=2",
    "PartitionName=requeues Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE",
    "PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF",
)
"""Partitions whose jobs have to make room, each in another way."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """To the report of a failed story belongs all that its jobs have left."""
    report = yield
    user = getattr(item, "funcargs", {}).get("alice")
    if report.when == "call" and report.failed and isinstance(user, User):
        report.sections += [(f"job {job.job_id}", job.story()) for job in user.jobs]
    return report


@pytest.fixture(scope="session")
def small_disk() -> Iterator[Path]:
    """A folder that login and nodes share, open to all, on a filesystem of a few megabytes."""
    # With our pid: of a run that was killed the next one takes it away.
    folder = Path(tempfile.mkdtemp(prefix=f"{crashed.DISK}{os.getpid()}-", dir=crashed.DISKS))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SMALL_BYTES},mode=1777", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


@pytest.fixture(scope="session")
def bed(small_disk: Path) -> Iterator[Testbed]:
    """Four nodes, up."""
    with Testbed(f"e2e-{os.getpid()}") as testbed:
        yield testbed.up(nodes=4, binds=[small_disk], settings=PREEMPTION)


@pytest.fixture
def calm(bed: Testbed) -> Testbed:
    """The testbed with all nodes idle and no job, whatever the test before has done to it."""
    bed.run(["scancel", "--me"], check=False)
    for node in bed.status()["nodes"]:
        # A node that has just been killed is idle for Slurm still.
        if not (node["alive"] and node["plugged"] and node["slurm"].startswith(_WELL)):
            bed.revive(node["name"])
    bed.nodes_idle(_IDLE_S)
    return bed


@pytest.fixture
def alice(calm: Testbed, request: pytest.FixtureRequest) -> Iterator[User]:
    """An ordinary user in a folder of her own; her jobs end with the test."""
    name = re.sub(r"\W+", "-", request.node.name)[:40].strip("-")
    user = User.arrives(calm, f"{name}-{time.monotonic_ns() % 10**8}", Path(sys.executable))
    yield user
    calm.run(["scancel", "--me"], check=False)
