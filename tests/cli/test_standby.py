"""A second job is queued with the first, and nothing of that can harm the first."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from supervisor.cli.standby import queue_standby
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.standby import Standby, read_standby
from supervisor.model.ids import JobId, RunId
from supervisor.settings import Settings
from tests.slurm_submit.fakes import FakeSlurm

_FIRST = JobId("4241")


def _run(work: Path, *, text: str = "#!/bin/sh\n#SBATCH -N 2\nsrun x\n", array: str = "", mode: str = "act") -> RunFile:
    return RunFile(
        run_id=RunId("r"),
        created_at=1.0,
        script_name="train.sh",
        script_text=text,
        sbatch_args=("-p", "gpu", "--wait", "--dependency=afterok:1"),
        workdir=str(work),
        array=array,
        settings=Settings(standby=True, mode=mode),  # type: ignore[arg-type]  # one of two words
    )


@pytest.fixture
def env(slurm: FakeSlurm) -> Mapping[str, str]:
    """What the first sbatch had."""
    return {"PATH": f"{slurm.bin}:/usr/bin:/bin", "HOME": str(slurm.folder), "LANG": "C", "SLURM_NTASKS": "4"}


def test_it_waits_for_the_first_to_fail_and_goes_where_that_ends_well(
    slurm: FakeSlurm, work: Path, env: Mapping[str, str]
) -> None:
    """The user's request again, without what held for the first alone."""
    said = queue_standby(_run(work), str(work), _FIRST, env)
    assert said == "Standby: job 4242 waits in the queue and begins only if job 4241 fails."
    assert slurm.argv[:2] == ["--dependency=afternotok:4241", "--kill-on-invalid-dep=yes"]
    assert slurm.argv[-1] == f"{work}/submitted/train.sh"
    assert "--wait" not in slurm.argv
    assert "--dependency=afterok:1" not in slurm.argv
    assert slurm.env["LANG"] == "C"
    assert "SLURM_NTASKS" not in slurm.env
    assert read_standby(work) == Standby(job_id=JobId("4242"), waits_for=_FIRST)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"array": "0-3"}, "each task"),
        ({"mode": "observe"}, "observe"),
        ({"text": "#!/bin/sh\n#SBATCH --hold\n"}, "line"),
    ],
)
def test_where_there_can_be_none_none_is_queued(
    slurm: FakeSlurm, work: Path, env: Mapping[str, str], changes: dict[str, str], why: str
) -> None:
    """And the user reads why."""
    said = queue_standby(_run(work, **changes), str(work), _FIRST, env)
    assert said.startswith("WARNING: no standby:")
    assert why in said
    assert slurm.calls() == 0
    assert read_standby(work) is None


def test_a_refusal_is_told_in_sbatchs_words(slurm: FakeSlurm, work: Path, env: Mapping[str, str]) -> None:
    """A limit of jobs per user, for one."""
    slurm.says(stderr="sbatch: error: AssocMaxSubmitJobLimit\n", code=1)
    assert "AssocMaxSubmitJobLimit" in queue_standby(_run(work), str(work), _FIRST, env)
    assert read_standby(work) is None


def test_a_torn_note_is_none(work: Path) -> None:
    """Then it begins after a failure like any other job, and is told that the run goes on elsewhere."""
    (work / "standby.json").write_text("{")
    assert read_standby(work) is None
