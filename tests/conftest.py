"""Marks, retries and the real cluster for all tests."""

import os
from pathlib import Path

import pytest

_RETRIES = 2
"""Only on the cluster: real time, two cores and nine daemons. A test of pure code is never tried again."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests on the cluster their retries, and skip them where there cannot be a cluster."""
    can_run = os.geteuid() == 0 and Path("/etc/debian_version").exists()
    for item in items:
        if item.get_closest_marker("cluster") is None:
            continue
        item.add_marker(pytest.mark.flaky(reruns=_RETRIES, reruns_delay=1))
        if not can_run:
            item.add_marker(pytest.mark.skip(reason="needs root on Debian to bring up a real Slurm"))


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of this repository."""
    return Path(__file__).resolve().parents[1]
