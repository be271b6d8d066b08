"""Whatever form a script is written in, it is under supervision what it is under plain sbatch, and it comes back.

The forms run side by side, once each way, and once with a rank that is killed in the first attempt.
docs/slurm-surface.md is the table of them.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from story.job import Job
from story.waiting import wait_for
from testbed.api import Testbed

from tests.e2e.user import User

pytestmark = pytest.mark.cluster

_ALL_S = 170.0
_SUPERVISE = Path(sys.executable).with_name("supervise")
# What a rank says, and how one of them ends in the first attempt. mpirun's ranks inherit SLURM_PROCID=0 of the script.
_RANK = """#!/bin/bash
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
echo "rank $rank of ${1:-a job} in attempt ${SUPERVISE_ATTEMPT:-none}"
sleep 1
[ "$rank.${SUPERVISE_ATTEMPT:-none}" != 1.1 ] || kill -KILL $$
"""


@dataclass(frozen=True)
class Form:
    """A way to write a job: options of sbatch, and what the script does."""

    sbatch: Sequence[str]
    text: str

    def submitted(self, user: User, name: str, submit: Callable[..., Job]) -> Job:
        """The job, in a script of its own."""
        user.writes(f"{name}.sh", f"#!/bin/bash\n{self.text}\n")
        return submit(*self.sbatch, f"{name}.sh")


_TWO = ("-N2", "-n4")
# How many each rank has. Which ones differs: both jobs may run at once on the same node.
_GPUS = "srun sh -c 'echo $SLURM_PROCID: $(echo $CUDA_VISIBLE_DEVICES | tr 0-9 g)' | sort"
FORMS: Mapping[str, Form] = {
    "het": Form(("-N1", "-n1", ":", "-N1", "-n2"), "srun --het-group=0,1 sh -c 'echo $SLURM_PROCID' | sort"),
    "het-steps": Form(("-N1", "-n1", ":", "-N1", "-n2"), "srun -n1 echo a : -n2 echo b | sort"),
    "exclusive": Form(("-N1", "--exclusive"), "srun -n2 sh -c 'echo $SLURM_PROCID $SLURM_CPUS_ON_NODE' | sort"),
    "gres": Form(("-N2", "--gres=gpu:4", "-n2"), _GPUS),
    "gpus-per-task": Form(("-N1", "-n2", "--gpus-per-task=2"), _GPUS),
    "multi-prog": Form(_TWO, "printf '0 echo master\\n1-3 echo worker %%t %%o\\n' >mp; srun --multi-prog mp | sort"),
    "label": Form(_TWO, "srun -l sh -c 'echo out; echo err >&2' 2>&1 | sort"),
    "output": Form(_TWO, "srun -o o-$SLURM_JOB_ID-%t.txt sh -c 'echo $SLURM_PROCID'; cat o-$SLURM_JOB_ID-*"),
    "parallel": Form(
        _TWO, 'for i in 1 2 3 4; do srun --exact -n1 -N1 -c1 sh -c "sleep 1; echo $i" & done | sort; wait; srun echo x'
    ),
    "overlap": Form(_TWO, "srun sleep 2 & srun --overlap -N1 -n1 echo beside; wait"),
    "mpirun": Form(_TWO, "mpirun.openmpi --oversubscribe sh -c 'echo $OMPI_COMM_WORLD_RANK' | sort"),
    "hydra": Form(_TWO, "mpiexec.hydra -bootstrap slurm -n 4 sh -c 'echo $PMI_RANK' | sort"),
    "sbcast": Form(
        ("-N2", "-n2"), 'f=/tmp/cast.$SLURM_JOB_ID; sbcast $0 $f; srun sh -c "test -s $f && rm $f && echo ok"'
    ),
    "array": Form(("-N1", "-n2", "-a", "0-1", "-o", "array-%A_%a.txt"), "srun echo task $SLURM_ARRAY_TASK_ID"),
    "export-none": Form(("-N1", "--export=NONE"), "srun --export=ALL sh -c 'echo ${USER_SET-unset}'"),
}
"""Undisturbed."""
BROKEN: Mapping[str, Form] = {
    "steps": Form(_TWO, "srun true && srun ./rank.sh && srun -N1 -n1 echo after"),
    "multi-prog": Form(_TWO, "printf '0 ./rank.sh %%t\\n1-3 ./rank.sh\\n' >mp2; srun --multi-prog mp2"),
    "label": Form(_TWO, "srun -l ./rank.sh"),
    "output": Form(_TWO, "srun -o r-%t.txt -e e-%t.txt ./rank.sh"),
    "parallel": Form(
        _TWO,
        'for i in 0 1 2; do srun --exact -N1 -n1 -c1 env SLURM_PROCID=$i ./rank.sh & p="$p $!"; done; '
        "for i in $p; do wait $i || exit; done",
    ),
    "mpirun": Form(_TWO, "mpirun.openmpi --oversubscribe ./rank.sh"),
    "hydra": Form(_TWO, "mpiexec.hydra -bootstrap slurm -n 4 ./rank.sh"),
    "container": Form(_TWO, "srun unshare -Urpf --mount-proc --kill-child sh -c './rank.sh; exit $?'"),
    "run-inside": Form(_TWO, f"{_SUPERVISE} -q run -- srun ./rank.sh"),
    "array": Form(("-N1", "-n2", "-a", "0-1", "-o", "b-%A_%a.txt"), "[ $SLURM_ARRAY_TASK_ID = 0 ] || srun ./rank.sh"),
}
"""With a rank that is killed once. `unshare` makes what enroot and apptainer make: namespaces without privileges."""


@pytest.fixture(scope="module")
def user(bed: Testbed) -> User:
    """Alice, in one folder for all forms."""
    found = User.arrives(bed, f"surface-{time.monotonic_ns() % 10**8}", Path(sys.executable))
    found.writes("rank.sh", _RANK)
    return found


@pytest.fixture(scope="module")
def pairs(user: User) -> Mapping[str, tuple[Job, Job]]:
    """Each form without and with us."""
    jobs = {
        name: (form.submitted(user, name, user.plain), form.submitted(user, name, user.supervised))
        for name, form in FORMS.items()
    }
    _wait_over(user)
    return jobs


@pytest.fixture(scope="module")
def broken(user: User) -> Mapping[str, Job]:
    """Each form with its killed rank, at its end."""
    jobs = {
        name: form.submitted(user, f"broken-{name}", user.plain if name == "run-inside" else user.supervised)
        for name, form in BROKEN.items()
    }
    _wait_over(user)
    return jobs


def _wait_over(user: User) -> None:
    """All of them, the last task of an array too."""
    wait_for(lambda: not user.queue(), "no job any more", _ALL_S, poll_s=0.5)


def _said(job: Job) -> list[str]:
    """The job's own lines."""
    paths = sorted(job.folder.glob(f"*-{job.job_id}[-_]*.txt")) or [job.folder / f"slurm-{job.job_id}.out"]
    lines = [line for path in paths for line in path.read_text(errors="replace").splitlines()]
    return [line for line in lines if not line.startswith("supervise:")]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_what_it_is_under_sbatch(pairs: Mapping[str, tuple[Job, Job]], name: str) -> None:
    """Its lines, its state, its exit code."""
    plain, ours = pairs[name]
    assert _said(ours) == _said(plain) != []
    assert [ours.facts()[what] for what in ("JobState", "ExitCode")] == ["COMPLETED", "0:0"]


def test_a_heterogeneous_job_is_handed_on(pairs: Mapping[str, tuple[Job, Job]]) -> None:
    """It says so, and nothing of ours is in it."""
    _, ours = pairs["het"]
    assert "the job is submitted WITHOUT supervision" in ours.said
    assert "supervise:" not in ours.output


@pytest.mark.parametrize("name", BROKEN)
def test_a_form_comes_back_after_a_killed_rank(broken: Mapping[str, Job], name: str) -> None:
    """A second attempt of all of it, which completes, with nothing of the first one left."""
    job = broken[name]
    assert (job.facts()["JobState"], job.facts()["ExitCode"]) == ("COMPLETED", "0:0"), job.story()
    text = "\n".join(path.read_text() for path in job.folder.glob("r-*.txt")) if name == "output" else job.output
    if name == "array":
        text = (job.folder / f"b-{job.job_id}_1.txt").read_text()
        assert "attempt 2" not in (job.folder / f"b-{job.job_id}_0.txt").read_text()
    assert "in attempt 2" in text
