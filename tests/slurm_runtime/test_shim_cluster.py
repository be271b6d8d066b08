"""The shim and the environment of an attempt on a real cluster.

Each job has four nodes, the last of which is hidden, or taken out of the job before the attempt begins.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId
from supervisor.slurm import commands
from supervisor.slurm.environment import Attempt, attempt_environment, parse_environ
from supervisor.slurm.shim import install_shim

pytestmark = pytest.mark.cluster

IN, HIDDEN = ("node001", "node002", "node003"), "node004"
TWICE = sorted(2 * IN)
REQUESTS = {"per_node": "--gpus-per-node=8", "per_job": "--gpus=32", "shrunk": "--gpus-per-node=8"}


class Job:
    """What the ranks of each case said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def lines(self, case: str) -> list[str]:
        """The lines of a case that ended well."""
        *lines, end = (self.folder / "out" / case).read_text().splitlines()
        said = (self.folder / "out" / f"{case}.err").read_text()
        assert end == "exit 0", said
        return lines


def until(condition: Callable[[], object], *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def answer(folder: Path, base: Mapping[str, str], *hidden: NodeName) -> None:
    """Answer the waiting job with the environment of an attempt on three nodes, as `env` takes it."""
    shim = install_shim(folder / "shim", path=base["PATH"])
    assert shim is not None
    Path(shim.folder).chmod(0o755)
    attempt = Attempt(
        run_id=RunId("r-1"),
        attempt=AttemptNo(1),
        nodes=tuple(NodeName(node) for node in IN),
        hidden=hidden,
        shim=shim,
    )
    changes = attempt_environment(base, attempt)
    words = [*(f"-u{name}" for name in changes.unset), *(f"{name}={value}" for name, value in changes.set.items())]
    (folder / "changes.new").write_bytes(b"".join(word.encode(errors="surrogateescape") + b"\0" for word in words))
    (folder / "changes.new").rename(folder / "changes")


@pytest.fixture(scope="module")
def testbed(checkout: Path) -> Iterator[Callable[..., str]]:
    """A cluster of four nodes; call it with a command for alice's login shell."""
    program = [sys.executable, str(checkout / "scripts" / "testbed")]

    def call(*argv: str) -> str:
        done = subprocess.run([*program, *argv], capture_output=True, text=True, check=False, timeout=170)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    name = f"shim-{os.getpid()}"
    call("up", "--name", name)
    try:
        yield lambda *argv: call("run", "--name", name, "--", *argv)
    finally:
        call("down", "--name", name)


@pytest.fixture(scope="module")
def run_job(testbed: Callable[..., str]) -> Callable[[str], Job]:
    """Run all cases in one job with the given kind of GPU request, once."""
    done: dict[str, Job] = {}

    def run(kind: str) -> Job:
        if kind not in done:
            home = Path(testbed("pwd"))
            folder = home / kind
            testbed("mkdir", str(folder))
            shutil.copy(Path(__file__).with_name("shim_cases.sh"), folder / "cases.sh")
            options = "-N4 --ntasks-per-node=2 -c4 -t10"
            testbed("bash", "-c", f"cd {folder} && sbatch {options} {REQUESTS[kind]} cases.sh")
            until((folder / "environ").exists, seconds=60)
            base = parse_environ((folder / "environ").read_bytes())
            if kind == "shrunk":
                testbed(*commands.shrink(JobId(base["SLURM_JOB_ID"]), [NodeName(node) for node in IN]))
                answer(folder, base)
            else:
                answer(folder, base, NodeName(HIDDEN))
            until((folder / "finished").exists, seconds=160)
            done[kind] = Job(folder)
        return done[kind]

    return run


@pytest.fixture(params=["per_job", "per_node"])
def job(request: pytest.FixtureRequest, run_job: Callable[[str], Job]) -> Job:
    """A job that asked for its GPUs per node, and one that asked for a number of them."""
    return run_job(str(request.param))


@pytest.fixture
def even_job(run_job: Callable[[str], Job]) -> Job:
    """A job that asked per node. Where all GPUs were asked for at once, Slurm itself refuses steps on fewer nodes."""
    return run_job("per_node")


@pytest.mark.parametrize("case", ["plain", "python_subprocess", "multi_prog", "module_on_path"])
def test_all_tasks_on_the_nodes_of_the_attempt(job: Job, case: str) -> None:
    """A plain srun, from shell, Python or a multi-prog file, runs two tasks on each node but the hidden one."""
    assert sorted(job.lines(case)) == TWICE


@pytest.mark.parametrize(
    ("case", "count"), [("one_task", 2), ("one_node", 2), ("two_nodes", 2), ("own_nodelist", 1), ("pty", 1)]
)
def test_small_steps_never_reach_the_hidden_node(even_job: Job, case: str, count: int) -> None:
    """Steps on one task, one node, two nodes or a named one run, and run inside."""
    nodes = [line for line in even_job.lines(case) if line.startswith("node")]
    assert len(nodes) == count
    assert case == "pty" or set(nodes) <= set(IN)


def test_own_exclude_holds_beside_ours(even_job: Job) -> None:
    """The user's own -x and the hidden node are both left out."""
    assert sorted(even_job.lines("own_exclude")) == ["node001", "node003"]


def test_pty_step_gets_its_terminal(even_job: Job) -> None:
    """A --pty step is given a terminal: nothing stands between it and srun."""
    assert even_job.lines("pty")[0].startswith("/dev/pts/")


def test_login_shell_uses_the_function(job: Job) -> None:
    """`bash -l` sets PATH anew, so the exported function leads to the shim."""
    kind, path, *nodes = job.lines("login_shell")
    assert (kind, path) == ("function", "/usr/bin/srun")
    assert sorted(nodes) == TWICE


def test_absolute_path_still_runs_with_as_many_tasks(job: Job) -> None:
    """/usr/bin/srun escapes the shim but not the environment: six tasks on three nodes, healthy spares among them."""
    nodes = job.lines("absolute_path")
    assert (len(nodes), len(set(nodes))) == (6, 3)


def test_scripts_see_the_attempt(job: Job) -> None:
    """What scripts derive from Slurm's variables tells of three nodes."""
    *names, counts = job.lines("environment")
    assert names == list(IN)
    assert counts.split()[:3] == ["3", "6", "2(x3)"]


def test_parallel_exact_steps_keep_distinct_gpus(job: Job) -> None:
    """Eight parallel steps of one GPU each get eight different ones, none on the hidden node."""
    gpus = job.lines("parallel_exact")
    assert (len(gpus), len(set(gpus))) == (8, 8)
    assert {gpu.split()[0] for gpu in gpus} <= set(IN)
    assert all(len(gpu.split()) == 2 for gpu in gpus)


MPI = [
    pytest.param(case, marks=pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed"))
    for case, program in (("openmpi", "mpirun.openmpi"), ("hydra", "mpiexec.hydra"))
]


@pytest.mark.parametrize("case", MPI)
def test_mpi_launchers(even_job: Job, case: str) -> None:
    """OpenMPI reads the environment, MPICH's hydra starts its proxies by srun: both stay inside."""
    hosts = even_job.lines(case)
    assert len(hosts) >= 6
    assert set(hosts) == set(IN)


@pytest.mark.parametrize("case", ["plain", "absolute_path", "login_shell", "multi_prog", *MPI])
def test_a_node_out_of_the_job_is_reached_by_nobody(run_job: Callable[[str], Job], case: str) -> None:
    """After a shrink all tasks run on the three nodes that are left, whoever starts them and without a shim."""
    nodes = [line for line in run_job("shrunk").lines(case) if line.startswith("node")]
    assert sorted(nodes) == TWICE
