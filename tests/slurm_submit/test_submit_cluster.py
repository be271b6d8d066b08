"""`supervise sbatch` beside plain sbatch on a real cluster.

The keeper is stood in for by one that only starts the script: what is tested is the way there.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from testbed.api import Testbed

from supervisor.ledger.run_folder import read_run
from supervisor.model.ids import NodeName
from supervisor.slurm.submit import job_of_folder, queue_query
from supervisor.slurm.successor import Circumstances, successor

pytestmark = pytest.mark.cluster

SUPERVISE = [sys.executable, "-I", "-m", "supervisor.cli.main"]
STAND_IN = "import os, sys\nos.environ['SUPERVISE_ATTEMPT'] = '1'\nos.execv(sys.argv[2], sys.argv[2:])\n"
SCRIPT = """#!/bin/bash
#SBATCH -N 1 -J my-job

printf '[%s]' "$#" "$@"
echo "$LINENO $SLURM_JOB_NAME $SLURM_SUBMIT_DIR"
nosuchcmd
exit 7
"""
DEADLINE_S = 90.0


class User:
    """Alice, in a folder of her own for each test."""

    def __init__(self, bed: Testbed, name: str) -> None:
        self.bed = bed
        self.folder = bed.home / name
        self.sh("mkdir", str(self.folder), cwd=bed.home)

    def sh(
        self, *argv: str, cwd: Path | None = None, text_in: str = "", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """A command on the login node."""
        return self.bed.run(argv, cwd=cwd or self.folder, text_in=text_in, env=env, check=False)

    def script(self, name: str = "train.sh", text: str = SCRIPT) -> None:
        """A script in the user's folder."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def plain(self, *args: str, text_in: str = "") -> "subprocess.CompletedProcess[str]":
        """What sbatch does."""
        return self.sh("sbatch", *args, text_in=text_in)

    def supervised(
        self, *args: str, text_in: str = "", options: Sequence[str] = ("-q",), env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """What supervise sbatch does."""
        return self.sh(*SUPERVISE, *options, "sbatch", *args, text_in=text_in, env=env)

    def runs(self) -> list[Path]:
        """The run folders here."""
        return sorted(path.parent for path in self.folder.glob(".supervise/*/run.json"))

    def let_run(self, job: str) -> None:
        """Give the run the stand-in for its keeper, then let the held job start."""
        for run in self.runs():
            (run / "keeper.py").write_text(STAND_IN)
        self.sh("scontrol", "release", job)

    def facts(self, job: str) -> dict[str, str]:
        """What Slurm says of the job."""
        words = self.sh("scontrol", "-o", "show", "job", job).stdout.split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def ended(self, job: str) -> dict[str, str]:
        """What Slurm says of the job once it has ended."""
        end = time.monotonic() + DEADLINE_S
        while (facts := self.facts(job)).get("JobState") in {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING"}:
            assert time.monotonic() < end, facts
            time.sleep(0.2)
        return facts


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    """Four nodes for all tests of this module."""
    with Testbed(f"sub{os.getpid()}") as testbed:
        yield testbed.up()


@pytest.fixture
def user(bed: Testbed, request: pytest.FixtureRequest) -> Iterator[User]:
    """A user without jobs."""
    name = re.sub(r"\W+", "-", request.node.name)[:60]
    alice = User(bed, f"{name}-{time.monotonic_ns()}")
    yield alice
    alice.sh("scancel", "--me")


def _id(stdout: str) -> str:
    return str(re.findall(r"\d+", stdout)[-1])


def _without_ids(text: str) -> str:
    """Job ids and times differ from call to call."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+|\b\d+\b", "N", text)


@pytest.mark.parametrize(
    "args",
    [
        ["-H", "train.sh", "a b"],
        ["-H", "--parsable", "train.sh"],
        ["-HQ", "train.sh"],
        ["-H", "-a", "0-1", "train.sh"],
        ["-H", "--wrap", "echo $HOME"],
        ["-p", "nowhere", "train.sh"],
        ["-N", "nonsense", "train.sh"],
        ["--no-such-option", "train.sh"],
        ["-J"],
        ["nowhere.sh"],
        ["--wrap=x", "train.sh"],
        ["--test-only", "train.sh"],
        ["empty.sh"],
        ["dos.sh"],
        ["quote.sh"],
        ["-V"],
    ],
)
def test_words_and_exit_code_are_sbatchs(user: User, args: list[str]) -> None:
    """Accepted or refused: stdout, stderr and exit code are those of plain sbatch; a refused job leaves no folder."""
    user.script()
    user.script("empty.sh", "\n")
    user.script("dos.sh", "#!/bin/sh\r\necho\r\n")
    user.script("quote.sh", '#!/bin/sh\n#SBATCH -J "open\necho\n')
    plain, ours = user.plain(*args), user.supervised(*args)
    assert ours.returncode == plain.returncode
    assert _without_ids(ours.stdout) == _without_ids(plain.stdout)
    assert _without_ids(ours.stderr) == _without_ids(plain.stderr)
    assert len(user.runs()) == (1 if plain.returncode == 0 and "-H" in args[0] else 0)


def test_a_script_on_stdin_is_taken(user: User) -> None:
    """Same words, same name of the job, same refusal of what is no script."""
    unnamed = SCRIPT.replace("-J my-job", "")
    plain, ours = user.plain("-H", text_in=unnamed), user.supervised("-H", text_in=unnamed)
    assert _without_ids(ours.stdout) == _without_ids(plain.stdout)
    assert user.facts(_id(ours.stdout))["JobName"] == user.facts(_id(plain.stdout))["JobName"] == "sbatch"
    refused, also = user.plain(text_in="echo\n"), user.supervised(text_in="echo\n")
    assert (also.returncode, also.stderr) == (refused.returncode, refused.stderr)


@pytest.mark.parametrize(
    ("args", "name"),
    [(["-H", "other.sh"], "other.sh"), (["-H", "--wrap=x"], "wrap"), (["-H", "-J", "x", "other.sh"], "x")],
)
def test_the_job_has_the_name_it_would_have_had(user: User, args: list[str], name: str) -> None:
    """Queue, accounting and `%x` in file names are what the user knows."""
    user.script("other.sh", SCRIPT.replace("-J my-job", ""))
    names = [user.facts(_id(out.stdout))["JobName"] for out in (user.plain(*args), user.supervised(*args))]
    assert names == [name, name]


@pytest.mark.parametrize("name", ["train.sh", "my 'own' \"train\".sh", "new\nline.sh", "$(x)`y`\\n.sh"])
def test_the_job_does_what_it_would_have_done(user: User, name: str) -> None:
    """From a folder and with a script of any name: output byte for byte, line numbers, arguments, exit code."""
    above = user.folder
    deeper = above / f"in {name}"
    user.sh("mkdir", str(deeper))
    user.folder = deeper
    user.script(name)
    args = ["-H", "-o", f"{above}/out-%j", "--", name, "a b", "", "it's", "$x\n"]
    jobs = [_id(user.plain(*args).stdout), _id(user.supervised(*args).stdout)]
    for job in jobs:
        user.let_run(job)
    codes = [user.ended(job)["ExitCode"] for job in jobs]
    outputs = [(above / f"out-{job}").read_text().replace(f"job{int(job):05}", "JOB") for job in jobs]
    assert codes == ["7:0", "7:0"]
    assert outputs[0] == outputs[1]


def test_a_python_script_does_what_it_would_have_done(user: User) -> None:
    """Through the wrapper: arguments, output, exit code."""
    user.script("train.py", "#!/usr/bin/env python3\n#SBATCH -N 1\nimport sys\nprint(sys.argv[1:])\nsys.exit(3)\n")
    args = ["-H", "-o", "out-%j", "train.py", "a b"]
    jobs = [_id(user.plain(*args).stdout), _id(user.supervised(*args).stdout)]
    for job in jobs:
        user.let_run(job)
    assert [user.ended(job)["ExitCode"] for job in jobs] == ["3:0", "3:0"]
    assert [(user.folder / f"out-{job}").read_text() for job in jobs] == ["['a b']\n", "['a b']\n"]


def test_wait_gives_the_jobs_exit_code(user: User) -> None:
    """`-W` ends when the job ends, with its code, and said the job's id at once."""
    user.script()
    argv = user.bed.run_argv([*SUPERVISE, "-q", "sbatch", "-H", "-W", "train.sh"], cwd=user.folder)
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        user.let_run(_id(process.stdout.readline()))
        assert process.wait(DEADLINE_S) == 7


def test_each_task_of_an_array_has_its_own_folder(user: User) -> None:
    """Made when the task starts; the array's folder is only the template."""
    user.script()
    job = _id(user.supervised("-H", "-a", "0-1", "-o", "out-%a", "train.sh").stdout)
    (run,) = user.runs()
    user.let_run(job)
    for task in (0, 1):
        assert user.ended(f"{job}_{task}")["ExitCode"] == "7:0"
        assert read_run(run.with_name(f"{run.name}-{task}")).run_id == f"{run.name}-{task}"
    assert "nosuchcmd" in (user.folder / "out-1").read_text()


def test_dry_run_submits_nothing(user: User) -> None:
    """No job, no folder."""
    user.script()
    shown = user.supervised("train.sh", options=["--dry-run", "--spares", "1"])
    assert "--nodes=2" in shown.stdout
    assert user.sh("squeue", "--me", "-h").stdout == ""
    assert user.runs() == []


def test_a_job_that_sbatch_did_not_hear_of_is_found(user: User) -> None:
    """The job was made, and the answer was lost on its way."""
    user.script()
    lossy = user.folder / "bin"
    user.sh("mkdir", str(lossy))
    program = lossy / "sbatch"
    program.write_text(
        '#!/bin/sh\n/usr/bin/sbatch "$@" >/dev/null\n'
        "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    done = user.supervised("-H", "train.sh", env={"PATH": f"{lossy}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert "do not submit it again" in done.stderr
    assert user.facts(_id(done.stdout))["JobName"] == "my-job"


@pytest.mark.parametrize(
    "request_",
    ["-N2 -n8", "-N2 --ntasks-per-node=4", "-N2 --gpus=4 -n4", "-N2 --exclusive -n4", "-N2 --gpus-per-node=8"],
)
def test_a_spare_gets_what_the_others_get(user: User, request_: str) -> None:
    """One node more, and each has the same tasks, CPUs and GPUs."""
    user.script("t.sh", "#!/bin/sh\nscontrol show job -d $SLURM_JOB_ID; echo tasks $SLURM_TASKS_PER_NODE\n")
    done = user.supervised("-H", "-o", "out", *request_.split(), "t.sh", options=["-q", "--spares", "1"])
    job = _id(done.stdout)
    user.let_run(job)
    assert user.ended(job)["ExitCode"] == "0:0"
    text = (user.folder / "out").read_text()
    shares = re.findall(r"^ +Nodes=(\S+) CPU_IDs=(\S+) Mem=\d+ GRES=(.*)$", text, re.MULTILINE)
    assert len(shares) == 1, f"nodes differ:\n{text}"
    assert re.search(r"NumNodes=3 ", text)
    assert re.search(r"tasks \d+\(x3\)", text)


def test_the_successor_is_accepted_and_means_what_it_should(user: User) -> None:
    """Without the bad node, without what held for the first job, with the user's own exclusions."""
    user.script(text=SCRIPT.replace("-N 1", "-N 2 -w node[001-002] -x node004 --begin=23:59"))
    first = _id(user.supervised("-H", "train.sh", "x").stdout)
    (folder,) = user.runs()
    run = read_run(folder)
    known = [NodeName(f"node00{number}") for number in range(1, 5)]
    env = {"HOME": str(user.bed.home), "PATH": "/usr/bin:/bin", "SLURM_CONF": str(user.bed.slurm_conf)}
    script = (folder / "submitted/train.sh").read_text()
    made = successor(
        run,
        str(folder),
        exclude=[NodeName("node001"), NodeName("gone9")],
        spares=0,
        at=Circumstances(env=env, script=script, known=known),
    )
    for name, content in made.files.items():
        (folder / name).write_bytes(content)
    (folder / "keeper.py").write_text(STAND_IN)
    answer = user.sh(*made.argv, cwd=Path(made.cwd), env=made.environment)
    assert answer.returncode == 0, answer.stderr
    facts = user.facts(answer.stdout.strip())
    assert (facts["ExcNodeList"], facts["ReqNodeList"], facts["JobName"]) == ("node[001,004]", "node002", "my-job")
    assert user.ended(answer.stdout.strip())["ExitCode"] == "7:0"
    queue = user.sh(*queue_query()).stdout
    assert job_of_folder(queue, folder) == first


def test_the_successor_drops_a_dependency_and_a_hold_of_the_script(user: User) -> None:
    """Both were fulfilled by the first job; a held successor would wait for ever."""
    blocker = _id(user.plain("-H", "--wrap=true").stdout)
    user.script(text=SCRIPT.replace("-N 1", f"-N 1 -H -d afterok:{blocker}"))
    user.supervised("train.sh")
    (folder,) = user.runs()
    env = {"HOME": str(user.bed.home), "PATH": "/usr/bin:/bin", "SLURM_CONF": str(user.bed.slurm_conf)}
    script = (folder / "submitted/train.sh").read_text()
    made = successor(read_run(folder), str(folder), exclude=[], spares=0, at=Circumstances(env=env, script=script))
    for name, content in made.files.items():
        (folder / name).write_bytes(content)
    (folder / "keeper.py").write_text(STAND_IN)
    answer = user.sh(*made.argv, cwd=Path(made.cwd), env=made.environment)
    assert user.ended(answer.stdout.strip())["ExitCode"] == "7:0"
