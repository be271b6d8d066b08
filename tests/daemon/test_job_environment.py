"""The job's environment, wherever it is needed."""

import json
import os
from pathlib import Path

import pytest

from supervisor.daemon.job_environment import CARRIED, environment_of_the_job, packed, unpacked
from supervisor.model.ids import JobId
from supervisor.slurm.commands import clean_environment
from supervisor.slurm.environment import parse_environ

JOB = {
    "PATH": "/site/bin:/usr/bin",
    "LC_ALL": "de_DE.UTF-8",
    "SLURM_CONF": "/etc/slurm.conf",
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NAME": "train",
    "SLURM_ARRAY_TASK_ID": "3",
    "SBATCH_PARTITION": "gpu",
    "BASH_FUNC_module%%": "() { eval; }",
    "BYTES": "caf\udce9",
}


def test_an_agent_carries_what_its_clean_environment_lacks() -> None:
    """And gives the job's own back, to the last variable, whatever slurmd has set for its step."""
    clean = clean_environment(JOB, job=JobId("7"))
    on_the_node = {**packed(clean, JOB), "SLURM_STEP_ID": "0", "SLURM_NTASKS": "9", "SLURMD_NODENAME": "n2"}
    assert unpacked(on_the_node) == JOB


def test_what_the_job_did_not_have_is_taken_away() -> None:
    """Our own calls run under LC_ALL=C; the successor inherits the user's locale, or none."""
    job = {name: value for name, value in JOB.items() if name != "LC_ALL"}
    assert "LC_ALL" not in unpacked(packed(clean_environment(job, job=JobId("7")), job))


def test_too_much_is_not_carried() -> None:
    """The kernel would not start the step at all: then the agents run, and the successor gets what they have."""
    assert CARRIED not in packed({"PATH": "/bin"}, {"SBATCH_HUGE": "x" * 200_000})


def test_the_one_that_takes_over_sees_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everywhere else it is that of the process which started this one: the keeper."""
    monkeypatch.setenv(CARRIED, json.dumps({"SBATCH_PARTITION": "gpu"}))
    assert environment_of_the_job()["SBATCH_PARTITION"] == "gpu"
    monkeypatch.delenv(CARRIED)
    parent = parse_environ(Path(f"/proc/{os.getppid()}/environ").read_bytes())
    assert environment_of_the_job() == parent
