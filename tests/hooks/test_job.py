"""What is taken from the environment, and how strangers' names are shown."""

import pytest

from supervisor.hooks.job import Job, clean, job_of


def test_the_facts_of_a_job_are_numbers_and_a_name() -> None:
    """Devices as Slurm lists them, with ranges."""
    told = {"SLURM_JOB_ID": "81199", "SLURM_JOB_UID": "20001", "SLURM_JOB_GPUS": "0,2-4", "SLURMD_NODENAME": "gpu017"}
    assert job_of(told) == Job(node="gpu017", job_id=81199, uid=20001, gpus=(0, 2, 3, 4))


@pytest.mark.parametrize("wrong", ["", "12; reboot", "../../etc", "-1", "1 2", "\uff19", "1" * 30, "$(id)"])
def test_what_is_not_in_form_is_not_taken(wrong: str) -> None:
    """Job id and uid become parts of file names and comparisons."""
    job = job_of({"SLURM_JOB_ID": wrong, "SLURM_JOB_UID": wrong, "SLURM_JOB_GPUS": f"{wrong}x"})
    assert (job.job_id, job.uid, job.gpus) == (0, None, None)


@pytest.mark.parametrize("wrong", ["", "a/b", "../x", "-rf", "a b", "x" * 64, "n\n"])
def test_a_node_with_a_wrong_name_has_the_hosts(wrong: str) -> None:
    """It becomes part of a path and of a command."""
    assert job_of({"SLURMD_NODENAME": wrong}).node == job_of({}).node != wrong


def test_many_devices_are_bounded() -> None:
    """A range is not a way to fill memory."""
    gpus = job_of({"SLURM_JOB_GPUS": "0-999"}).gpus
    assert gpus is not None
    assert len(gpus) == 64


def test_a_name_is_shown_without_what_could_steer_a_terminal() -> None:
    """Nor a line, nor a quote, nor a command."""
    assert clean('py\x1b[31m"`$\n\u202e') == "py?[31m?????"
    assert clean("x" * 100, 16) == "x" * 16
