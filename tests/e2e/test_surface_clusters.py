"""Inside an allocation that is there already, and on clusters that are set up otherwise."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from story import release_env
from testbed import processes
from testbed.api import Testbed
from testbed.layout import Layout

from tests.e2e.user import User

pytestmark = pytest.mark.cluster

# Rank 1 ends in the first attempt, and the others would live on for ever: the attempt has to be stopped.
_RANK = """#!/bin/bash
echo "rank $SLURM_PROCID in attempt $SUPERVISE_ATTEMPT sees ${CUDA_VISIBLE_DEVICES-none}"
[ "$SUPERVISE_ATTEMPT" = 1 ] || exit 0
sleep 1
[ "$SLURM_PROCID" != 1 ] || exit 3
exec sleep 300
"""
_ONCE = """#!/bin/bash
supervise once -- sh -c 'echo x >>downloaded' || exit
srun bash -c 'supervise once --name index -- sh -c "sleep 1; echo x >>indexed" && ./rank.sh'
"""


@pytest.fixture
def other(request: pytest.FixtureRequest) -> Iterator[Testbed]:
    """A testbed of its own, not up yet."""
    del request
    with Testbed(f"other-{os.getpid()}") as bed:
        yield bed


def _allocated(user: User, *options: str, command: str = "srun ./rank.sh") -> str:
    """What salloc and a supervised command in its shell on the login node print; the shell goes on afterwards."""
    user.writes("rank.sh", _RANK)
    program = user.python.with_name("supervise")
    line = f"{program} -q --on-rank-exit any run -- {command}; echo code $?; srun -n1 echo the shell goes on"
    done = user.bed.run(["salloc", "-N2", "-n4", *options, "sh", "-c", line], cwd=user.folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _all_came_back(said: str, *, gpus: str = "none") -> None:
    for attempt in (1, 2):
        ranks = {f"rank {rank} in attempt {attempt} sees {gpus}" for rank in range(4)}
        assert ranks <= set(said.splitlines()), said


def test_a_command_in_an_allocation(alice: User) -> None:
    """From the login node: the first attempt is stopped, the second ends well, the step that it runs in is spared."""
    said = _allocated(alice)
    _all_came_back(said)
    assert said.endswith("code 0\nthe shell goes on\n")


@pytest.mark.parametrize("signal_name", ["TERM", "KILL"])
def test_a_command_that_is_ended_in_an_allocation_leaves_no_rank(alice: User, signal_name: str) -> None:
    """From the login node: the ranks are in another step than the command, and end with it all the same."""
    program = alice.python.with_name("supervise")
    steps = "squeue --me -s -h -o %j"
    line = (
        f"{program} -q run -- srun sleep 400 & p=$!; until {steps} | grep -q sleep; do sleep 0.5; done; sleep 1;"
        f"kill -{signal_name} $p; wait $p;"
        f"for i in $(seq 40); do {steps} | grep -q sleep || exit 0; sleep 0.5; done; exit 1"
    )
    done = alice.bed.run(["salloc", "-N2", "-n2", "sh", "-c", line], cwd=alice.folder, check=False)
    assert done.returncode == 0, done.stderr


def test_what_an_allocation_is_told_of(alice: User) -> None:
    """What the command prints goes through srun to a pipe, and is the verdict's evidence all the same."""
    _allocated(alice, command="srun sh -c 'echo torch.OutOfMemoryError: CUDA out of memory. >&2; exit 1'")
    (record,) = alice.folder.glob(".supervise/*/incidents/001/verdict.json")
    assert '"cuda_oom"' in record.read_text()


def test_what_ranks_write_into_files_of_their_own_is_evidence(alice: User) -> None:
    """`srun --output --error` by rank: nothing of it is in the job's output."""
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
    alice.writes("rank.sh", f"#!/bin/bash\nsleep 2\n[ $SLURM_PROCID != 1 ] || {{ echo '{oom}' >&2; exit 1; }}\n")
    job = alice.supervised("-N2", "-n4", "--wrap", "srun -o o-%t.txt -e e-%t.txt ./rank.sh || exit")
    assert job.wait_ended()["JobState"] == "FAILED"
    (incident,) = job.run.incidents()
    assert incident["verdict"]["cause"] == "cuda_oom", job.story()
    assert "ranks/1.log:1" in str(incident["verdict"]["evidence"])


def test_cgroups_bound_the_ranks_and_not_the_supervision(other: Testbed) -> None:
    """Memory and devices confined: salloc as above, and a rank that takes too much memory is a fault of the program."""
    user = User.arrives(other.up(nodes=2, profile="cgroup"), "bound", Path(sys.executable))
    _all_came_back(_allocated(user, "--mem-per-cpu=200", "--gpus-per-node=2"), gpus="0,1")
    user.writes("hog.sh", "#!/bin/bash\n[ $SLURM_PROCID = 0 ] || exec python3 -c 'x = bytearray(600 << 20)'\n")
    job = user.supervised("-N2", "-n2", "--mem=300", "--wrap", "srun ./hog.sh")
    assert job.wait_ended()["JobState"] == "FAILED"
    (incident,) = job.run.incidents()
    assert incident["verdict"]["cause"] == "host_oom", job.story()


def test_what_is_to_be_done_once_is_done_once(alice: User) -> None:
    """By four tasks on two nodes at once, and not again in the next attempt."""
    alice.writes("rank.sh", _RANK)
    alice.writes("job.sh", _ONCE)
    path = f"{alice.python.parent}:/usr/bin:/bin"
    job = alice.supervised("-N2", "-n4", "job.sh", options=["--on-rank-exit", "any"], env={"PATH": path})
    assert job.wait_ended()["JobState"] == "COMPLETED", job.story()
    _all_came_back(job.output)
    assert [(alice.folder / name).read_text() for name in ("downloaded", "indexed")] == ["x\n", "x\n"]


def test_slurmdbd_that_is_away_costs_nothing(other: Testbed) -> None:
    """Submission, interruption and end are Slurm's controller's affair."""
    user = User.arrives(other.up(nodes=2, accounting=True), "accounts", Path(sys.executable))
    daemon = processes.recall(Layout(other.name), "slurmdbd")
    assert daemon is not None
    os.kill(daemon.pid, signal.SIGSTOP)
    user.writes("rank.sh", _RANK)
    job = user.supervised("-N2", "-n4", "--wrap", "srun ./rank.sh", options=["--on-rank-exit", "any"])
    assert job.wait_ended()["JobState"] == "COMPLETED", job.story()
    _all_came_back(job.output)


@pytest.mark.timeout(1800)  # the first use of a release makes its root
def test_a_step_manager_in_place_of_the_controller(other: Testbed) -> None:
    """`sbatch --stepmgr`: steps are the job's own affair, and so are those that have to end."""
    settings = ("SlurmctldParameters=enable_stepmgr", "PrologFlags=Contain")
    binds = [folder for folder in [release_env.CERTIFICATES] if folder.exists()]
    bed = other.up(nodes=2, release="forky", settings=settings, binds=binds)
    user = User.arrives(bed, "stepmgr", release_env.environment(bed))
    user.writes("rank.sh", _RANK)
    job = user.supervised("-N2", "-n4", "--stepmgr", "--wrap", "srun ./rank.sh", options=["--on-rank-exit", "any"])
    assert job.wait_ended()["JobState"] == "COMPLETED", job.story()
    _all_came_back(job.output)
