"""What `down` and the next `up` take away."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from testbed import cgroups, network, processes
from testbed.api import Testbed
from testbed.layout import Layout
from testbed.spec import Spec

pytestmark = pytest.mark.cluster

_MOUNTS = Path("/proc/self/mountinfo")


def _index(bed: Testbed) -> int:
    return Spec.from_json(Layout(bed.name).spec.read_text()).index


def _left(bed: Testbed, index: int) -> dict[str, object]:
    """Everything that still tells of the testbed."""
    layout = Layout(bed.name)
    return {
        "processes": processes.all_of(layout),
        "interfaces": network.interfaces(index),
        "state": layout.state.exists(),
        "mounts": [line for line in _MOUNTS.read_text().splitlines() if str(layout.state) in line],
        "cgroups": list(Path("/sys/fs/cgroup").glob(f"*/supervise-testbed-{bed.name}")),
    }


_NOTHING = {"processes": [], "interfaces": [], "state": False, "mounts": [], "cgroups": []}


@pytest.mark.parametrize("profile", ["plain", "cgroup"])
def test_down_leaves_nothing(another: Testbed, profile: str) -> None:
    """All is gone, the processes of a running job and of a program left behind on login among it."""
    if profile == "cgroup" and cgroups.missing(Path("/proc/mounts").read_text()):
        pytest.skip("this kernel has no version 1 cgroups")
    another.up(profile=profile)
    another.run(["sbatch", "-N4", "--wrap", "srun sleep 1000"])
    another.wait_states(lambda states: "idle" not in states.values(), 60, "all busy")
    another.run(["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 &"])
    index = _index(another)
    before = _left(another, index)
    assert len(network.interfaces(index)) == 5
    assert before["state"]
    another.down()
    assert _left(another, index) == _NOTHING


def test_down_of_a_testbed_that_is_not_up_is_fine(another: Testbed) -> None:
    """Taking away what is not there is no error."""
    another.down()


def test_up_takes_away_what_a_crash_left(another: Testbed) -> None:
    """With its notes lost and half of its processes dead, an old testbed still goes wholly before the new one comes."""
    another.up(nodes=2)
    layout = Layout(another.name)
    old = processes.all_of(layout)
    shutil.rmtree(layout.pids)
    for process in old[::2]:
        os.kill(process.pid, signal.SIGKILL)
    another.up(nodes=3)
    assert not [process for process in old if process.is_alive]
    assert another.run(["srun", "-N3", "hostname"]).stdout.split() != []
    assert len(network.interfaces(_index(another))) == 4


def test_two_testbeds_do_not_see_each_other(testbed: Testbed, another: Testbed) -> None:
    """Both run jobs at once, and taking one down leaves the other as it was."""
    another.up(nodes=2)
    assert _index(another) != _index(testbed)
    assert len(testbed.run(["srun", "-N4", "hostname"]).stdout.split()) == 4
    assert len(another.run(["srun", "-N2", "hostname"]).stdout.split()) == 2
    another.kill_node("node001")
    another.down()
    assert set(testbed.node_states().values()) == {"idle"}
    assert len(testbed.run(["srun", "-N4", "hostname"]).stdout.split()) == 4
