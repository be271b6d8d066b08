"""Everything that tests need, installed where it is missing."""

import os
import shutil
import sys
from pathlib import Path

from product import packages, venv

TEST_PACKAGES = [
    "python3-venv",
    "slurmctld",
    "slurmd",
    "slurm-client",
    "munge",
    "mosquitto",
    "iproute2",
    "procps",
    "openmpi-bin",
    "mpich",
    "debootstrap",
    "chromium",
    "gcc",
    "libc6-dev",
    "systemd",
]


def python_for_tests(*, with_cluster: bool) -> Path:
    """The Python of an environment in which everything can be run; says on stderr what it does."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        wanted = TEST_PACKAGES if with_cluster else ["python3-venv"]
        if packages.missing(wanted):
            print(f"installing: {' '.join(packages.missing(wanted))}", file=sys.stderr)
        packages.install(wanted)
    return venv.environment(dev=True)
