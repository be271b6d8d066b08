"""Newer Slurm in a root of its own, and steps that are really confined."""

from pathlib import Path

import pytest
from testbed import cgroups
from testbed.api import Testbed
from testbed.layout import REPOSITORY

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]  # the first use of a release makes its root

_MINUTE_S = 60.0


@pytest.mark.parametrize(("release", "slurm"), [("trixie", "24.11"), ("forky", "26.05")])
def test_a_newer_release_runs_its_own_slurm(another: Testbed, release: str, slurm: str) -> None:
    """The release's own commands and daemons run, in nodes that are apart, and survive a killed node."""
    another.up(release=release)
    assert another.run(["sinfo", "-V"]).stdout.startswith(f"slurm-wlm {slurm}.")
    lines = another.run(["srun", "-N4", "--ntasks-per-node=2", "hostname"]).stdout.split()
    assert sorted(lines) == [f"node00{n}" for n in (1, 1, 2, 2, 3, 3, 4, 4)]
    another.exec("node001", ["touch", "/dev/shm/mine"])
    assert another.exec("node002", ["ls", "/dev/shm"]).stdout == ""
    another.kill_node("node002")
    another.revive("node002")
    assert another.run(["srun", "-w", "node002", "hostname"]).stdout == "node002\n"


@pytest.mark.parametrize("release", ["native", "trixie"])
def test_folders_are_seen_at_their_own_path(another: Testbed, tmp_path: Path, release: str) -> None:
    """The checkout and each bound folder are there on login and nodes, even below the private /tmp."""
    (tmp_path / "file").write_text("hello")
    another.up(nodes=1, release=release, binds=[tmp_path])
    for done in (another.run(["ls", str(REPOSITORY)], user="root"), another.exec("node001", ["ls", str(REPOSITORY)])):
        assert "pyproject.toml" in done.stdout
    for done in (
        another.run(["cat", f"{tmp_path}/file"], user="root"),
        another.exec("node001", ["cat", f"{tmp_path}/file"]),
    ):
        assert done.stdout == "hello"


_DEVICES = """
import errno, os, sys
for number in range(4):
    try:
        os.close(os.open(f"{sys.argv[1]}/nvidia{number}", os.O_RDWR))
        print("open")
    except OSError as exc:
        print("denied" if exc.errno == errno.EPERM else "allowed")
"""


@pytest.mark.parametrize("release", ["native", "trixie", "forky"])
def test_the_cgroup_profile_takes_away_devices_and_memory(another: Testbed, release: str) -> None:
    """A step may touch the GPUs it was given and no other, and is killed when it takes more memory than it has."""
    if cgroups.missing(Path("/proc/mounts").read_text()):
        pytest.skip("this kernel has no version 1 cgroups")
    another.up(nodes=1, gpus=4, profile="cgroup", release=release)
    devices = str(another.slurm_conf.parents[1] / "dev")
    seen = another.run(["srun", "--gpus=2", "python3", "-c", _DEVICES, devices]).stdout.split()
    assert seen.count("denied") == 2
    hog = another.run(["srun", "--mem=100", "python3", "-c", "bytearray(300_000_000)"], check=False)
    assert hog.returncode != 0
    another.nodes_idle(_MINUTE_S)
    another.kill_node("node001")
    another.revive("node001")
    assert another.run(["srun", "hostname"]).stdout == "node001\n"
