"""Kinds of jobs that are refused, or handed to sbatch as they are."""

import pytest

from supervisor.slurm.directives import parse_directives
from supervisor.slurm.kinds import why_not_watched, why_refused
from supervisor.slurm.sbatch_options import effective, options_of_environment, parse


@pytest.mark.parametrize(
    ("args", "option"),
    [
        (["--container-image=docker://nvcr.io/pytorch:25.01"], "--container-image=docker://nvcr.io/pytorch:25.01"),
        (["--container", "/images/pytorch"], "--container=/images/pytorch"),
        (["--container-name=train"], "--container-name=train"),
    ],
)
def test_a_script_in_a_container_is_refused_with_the_remedy(args: list[str], option: str) -> None:
    """The option is named as it was given, and stands in the srun that does what was meant."""
    why = why_refused(effective(parse(args).options))
    assert option in why
    assert f"srun {option}" in why


def test_it_is_seen_wherever_it_was_said() -> None:
    """In the script, where this sbatch's own list does not have it, and in the environment."""
    script = parse_directives("#!/bin/sh\n#SBATCH --container-image img.sqsh\ntrue\n")
    assert script.unknown() == ("--container-image",)
    assert "--container-image" in why_refused(effective(script.options()))
    assert why_refused(effective(options_of_environment({"SBATCH_CONTAINER": "/i"})))


def test_all_others_are_taken() -> None:
    """Also one whose ranks run in containers: that is said to srun."""
    assert why_refused(effective(parse(["-N2", "--gres=gpu:8", "--comment=container", "--exclusive"]).options)) == ""
    assert why_not_watched(is_heterogeneous=False) == ""
    assert "heterogeneous" in why_not_watched(is_heterogeneous=True)
