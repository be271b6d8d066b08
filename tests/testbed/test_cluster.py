"""A real Slurm in four nodes: commands, views and faults."""

import json
import signal
import subprocess
import time

import pytest
from testbed.api import PROGRAM, Testbed
from testbed.errors import TestbedError

pytestmark = pytest.mark.cluster

_SOON_S = 60.0
# Slurm calls a silent node DOWN within 30 s at the testbed's SlurmdTimeout; a busy machine needs longer.
_NOTICED_S = 120.0


def _reaches_controller(bed: Testbed, node: str) -> bool:
    """Whether a TCP connection from the node to slurmctld is made within two seconds."""
    port = next(
        line.partition("=")[2] for line in bed.slurm_conf.read_text().splitlines() if line.startswith("SlurmctldPort")
    )
    program = f"import socket; socket.create_connection(('login', {port}), timeout=2)"
    return bed.exec(node, ["python3", "-c", program], check=False).returncode == 0


def test_an_ordinary_users_batch_job_runs_eight_tasks_on_four_nodes(testbed: Testbed) -> None:
    """Alice can use sbatch and srun, each task sees its node's own name, and output lies in her shared home."""
    script = "#!/bin/bash\nsrun bash -c 'echo $(hostname) $(id -un) $CUDA_VISIBLE_DEVICES'\n"
    options = ["-W", "-N4", "--ntasks-per-node=2", "--gpus-per-node=8", "-o", "eight.txt"]
    testbed.run(["sbatch", *options], text_in=script)
    lines = sorted((testbed.home / "eight.txt").read_text().splitlines())
    assert lines == sorted(f"node00{n} alice 0,1,2,3,4,5,6,7" for n in (1, 1, 2, 2, 3, 3, 4, 4))


def test_a_node_has_its_own_name_processes_tmp_and_shared_memory(testbed: Testbed) -> None:
    """What a program sees on one node, another node does not."""
    # Only this one name is asked for: the checkout may lie in /tmp, and is seen on every node then.
    show = "import os, socket; print(socket.gethostname(), *['mine' in os.listdir(at) for at in ('/tmp', '/dev/shm')])"
    testbed.exec("node001", ["touch", "/tmp/mine", "/dev/shm/mine"])
    assert testbed.exec("node001", ["python3", "-c", show]).stdout.split() == ["node001", "True", "True"]
    assert testbed.exec("node002", ["python3", "-c", show]).stdout.split() == ["node002", "False", "False"]
    first = testbed.exec("node001", ["cat", "/proc/1/cmdline", "/proc/2/cmdline"]).stdout
    assert "slurmd\0-D\0-N\0node001" in first


def test_names_resolve_on_login_and_nodes(testbed: Testbed) -> None:
    """Login and every node know each other by name."""
    for words in (
        testbed.run(["getent", "hosts", "login", "node003"]),
        testbed.exec("node004", ["getent", "hosts", "login", "node003"]),
    ):
        assert [line.split()[1] for line in words.stdout.splitlines()] == ["login", "node003"]


def test_run_passes_everything_through(testbed: Testbed) -> None:
    """stdin, arguments, folder, environment and exit code are the command's own, and the environment is clean."""
    program = "import os, sys; print(sys.argv[1:], os.getcwd(), sorted(os.environ), sys.stdin.read()); sys.exit(7)"
    done = testbed.run(
        ["python3", "-c", program, "a b", "--", "-x"], cwd=testbed.logs, env={"K": "v=w"}, text_in="in", check=False
    )
    known = ["HOME", "K", "LC_ALL", "LOGNAME", "PATH", "SHELL", "SLURM_CONF", "USER"]
    assert done.stdout.strip() == f"['a b', '--', '-x'] {testbed.logs} {known} in"
    assert done.returncode == 7


def test_the_process_that_start_returns_is_the_command_itself(testbed: Testbed) -> None:
    """A signal sent to it reaches the command, as do its death and its output."""
    child = testbed.start(["sh", "-c", "trap 'echo heard; exit 3' USR1; echo ready; while :; do read x; done"])
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGUSR1)
    output, _ = child.communicate("x\n" * 3, timeout=_SOON_S)
    assert (output, child.returncode) == ("heard\n", 3)


def test_exec_forwards_signals_and_answers_like_a_shell(testbed: Testbed) -> None:
    """A command on a node ended by a signal that was sent to `exec` yields 128 plus its number."""
    argv = [str(PROGRAM), "exec", "--name", testbed.name, "node002", "--", "sh", "-c", "echo ready; exec sleep 1000"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.terminate()
        assert child.wait(_SOON_S) == 128 + signal.SIGTERM


def test_a_killed_node_loses_every_process_and_comes_back(testbed: Testbed) -> None:
    """kill-node ends all of the node at once, its shared memory included; after revive it runs jobs again."""
    testbed.exec("node003", ["sh", "-c", "touch /dev/shm/old; setsid sleep 1000 >/dev/null 2>&1 &"])
    testbed.kill_node("node003")
    with pytest.raises(TestbedError, match="not running"):
        testbed.exec("node003", ["true"])
    testbed.revive("node003")
    assert testbed.exec("node003", ["ls", "/dev/shm"]).stdout == ""
    assert testbed.run(["srun", "-w", "node003", "hostname"]).stdout == "node003\n"
    others = testbed.exec("node003", ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]).stdout
    assert "sleep 1000" not in others


@pytest.mark.timeout(420)
def test_a_node_that_slurm_called_down_is_idle_after_revive(testbed: Testbed) -> None:
    """Slurm notices a killed node by itself, and takes it back when it boots again."""
    testbed.kill_node("node004")
    testbed.wait_states(lambda states: states["node004"].startswith("down"), _NOTICED_S, "node004 down")
    testbed.revive("node004")
    testbed.nodes_idle(_SOON_S)


def test_an_unplugged_node_lives_on_but_hears_nobody(testbed: Testbed) -> None:
    """Its processes go on, its network does not; plugged in again it reaches slurmctld soon."""
    assert _reaches_controller(testbed, "node002")
    testbed.unplug("node002")
    assert not _reaches_controller(testbed, "node002")
    assert testbed.exec("node002", ["hostname"]).stdout == "node002\n"
    testbed.plug("node002")
    until = time.monotonic() + _SOON_S
    while not _reaches_controller(testbed, "node002"):
        assert time.monotonic() < until
    testbed.nodes_idle(_NOTICED_S)


def test_status_says_which_node_is_killed_and_which_unplugged(testbed: Testbed) -> None:
    """The faults done to a testbed can be read back."""
    testbed.kill_node("node001")
    testbed.unplug("node002")
    nodes = {node["name"]: (node["alive"], node["plugged"]) for node in testbed.status()["nodes"]}
    testbed.plug("node002")
    testbed.revive("node001")
    assert nodes == {
        "node001": (False, True),
        "node002": (True, False),
        "node003": (True, True),
        "node004": (True, True),
    }


def test_a_users_home_is_the_same_everywhere(testbed: Testbed) -> None:
    """~alice is her shared home on login and nodes, and bob cannot write to it."""
    testbed.run(["sh", "-c", "echo hello > note"])
    assert testbed.exec("node001", ["sh", "-c", "cat ~alice/note"]).stdout == "hello\n"
    assert testbed.run(["sh", "-c", "touch ~alice/note"], user="bob", check=False).returncode != 0


def test_env_lets_a_root_shell_of_the_host_ask_slurm(testbed: Testbed) -> None:
    """The export lines are enough for the host's own commands."""
    lines = subprocess.run(
        [str(PROGRAM), "env", "--name", testbed.name], capture_output=True, text=True, check=True, timeout=60
    )
    asked = ["sh", "-c", f"{lines.stdout}\nsinfo -h -o %D"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout == "4\n"


def test_logs_show_what_a_daemon_said(testbed: Testbed) -> None:
    """The end of a daemon's log is there to read."""
    argv = [str(PROGRAM), "logs", "--name", testbed.name, "node001"]
    assert "slurmd" in subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout


def test_settings_and_sizes_are_what_slurm_has(another: Testbed) -> None:
    """`--set` reaches Slurm, and the nodes have the CPUs and GPUs asked for."""
    another.up(nodes=2, gpus=2, cpus=3, settings=["SlurmdTimeout=77", "PartitionName=second Nodes=node001"])
    assert "77 sec" in another.run(["sh", "-c", "scontrol show config | grep SlurmdTimeout"]).stdout
    assert another.run(["sinfo", "-h", "-o", "%P %D %c %G"]).stdout.split() == [
        "main*",
        "2",
        "3",
        "gpu:2",
        "second",
        "1",
        "3",
        "gpu:2",
    ]


def test_four_nodes_are_idle_soon(another: Testbed) -> None:
    """Where everything is installed, four nodes are idle in well under ten seconds (twice that on a busy machine)."""
    began = time.monotonic()
    another.up()
    assert time.monotonic() - began < 20
    assert json.dumps(another.node_states()).count('"idle"') == 4


def test_sixty_four_nodes_run_a_step_on_all(another: Testbed) -> None:
    """Sixty-four nodes come up and each takes its task."""
    another.up(nodes=64)
    assert len(set(another.run(["srun", "-N64", "-n64", "hostname"]).stdout.split())) == 64
