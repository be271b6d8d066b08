"""A job under supervision that nothing disturbs is the job that plain sbatch would have run."""

import re
from collections.abc import Sequence

import pytest
from story.job import Job

from tests.e2e.user import User

pytestmark = pytest.mark.cluster

_HEALTHY = """#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2
echo "$0 has $# arguments"
printf '<%s>' "$@"
echo
srun -l bash -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS on $SLURM_NODELIST; echo err $SLURM_PROCID >&2' 2>&1 | sort
printf 'no newline at the end \\377\\000 of bytes'
"""
_FAILING = "#!/bin/bash\n#SBATCH -N1\necho out; echo err >&2\nexit 7\n"
_KILLED = "#!/bin/bash\n#SBATCH -N1\necho out\nkill -SEGV $$\n"
# A failed step may be anybody's fault, so that it is tried again; without that all is as it was.
_STEP_FAILS = """#!/bin/bash
#SBATCH -N2
#SUPERVISE --max-restarts 0
set -e
srun bash -c 'exit $((4 * SLURM_PROCID))'
echo never
"""
_BOTH = "#!/bin/bash\n#SBATCH -N1 -o out-%j -e err-%j\necho out; echo err >&2; nosuchcommand; echo $LINENO\n"


def _pair(user: User, *arguments: str) -> tuple[Job, Job]:
    """The same submission without and with us, both ended."""
    jobs = user.plain(*arguments), user.supervised(*arguments)
    for job in jobs:
        job.wait_ended()
    return jobs


def _output(job: Job, name: str = "slurm-{}.out") -> bytes:
    """What the job printed, without what differs from job to job and without our own lines."""
    text = (job.folder / name.format(job.job_id)).read_bytes()
    text = re.sub(rb"^supervise: [^\n]*\n", b"", text, flags=re.MULTILINE)
    return re.sub(rb"job0*%b\b" % job.job_id.encode(), b"JOB", text)


def _ends(jobs: Sequence[Job]) -> list[tuple[str, str]]:
    return [(facts["JobState"], facts["ExitCode"]) for facts in (job.facts() for job in jobs)]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (_HEALTHY, ("COMPLETED", "0:0")),
        (_FAILING, ("FAILED", "7:0")),
        (_KILLED, ("FAILED", "0:11")),
        (_STEP_FAILS, ("FAILED", "4:0")),
    ],
    ids=["healthy", "failing", "killed", "step-fails"],
)
def test_bytes_and_exit_code_are_those_of_sbatch(alice: User, text: str, end: tuple[str, str]) -> None:
    """Output byte for byte, state and exit code; arguments with spaces, quotes and line ends included."""
    alice.writes("job.sh", text)
    plain, ours = _pair(alice, "job.sh", "a b", "it's", '"x"', "", "two\nlines", "*")
    assert _ends([plain, ours]) == [end, end]
    assert _output(ours) == _output(plain)


def test_stdout_and_stderr_go_where_the_user_said(alice: User) -> None:
    """Two files, each with its own."""
    alice.writes("job.sh", _BOTH)
    plain, ours = _pair(alice, "job.sh")
    assert _ends([plain, ours]) == [("COMPLETED", "0:0")] * 2
    for name in ("out-{}", "err-{}"):
        assert _output(ours, name) == _output(plain, name)


def test_a_wrapped_command_is_the_same(alice: User) -> None:
    """`--wrap`, with quotes and a variable of the job."""
    plain, ours = _pair(alice, "-N2", "--wrap", "srun -l bash -c 'echo \"$SLURM_PROCID $SLURM_NNODES\"' | sort; exit 3")
    assert _ends([plain, ours]) == [("FAILED", "3:0")] * 2
    assert _output(ours) == _output(plain)


def test_a_script_on_stdin_is_the_same(alice: User) -> None:
    """As from a pipe."""
    plain, ours = alice.plain(text_in=_FAILING), alice.supervised(text_in=_FAILING)
    for job in (plain, ours):
        job.wait_ended()
    assert _ends([plain, ours]) == [("FAILED", "7:0")] * 2
    assert _output(ours) == _output(plain)
