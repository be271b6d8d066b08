"""What must hold of a run whatever was done to it, proved from what its trainer wrote."""

from itertools import pairwise

from story.run_folder import text_of
from testbed.api import Testbed

from tests.e2e.user import User

PATIENT = ("SlurmdTimeout=300",)
"""Slurm's default: it notices a dead node in minutes. The testbed's ten seconds would leave agents no time."""


def patient(bed: Testbed) -> Testbed:
    """Four nodes of a Slurm that does not notice a dead node within a test."""
    return bed.up(nodes=4, settings=PATIENT)


def steps(user: User) -> list[tuple[int, int]]:
    """Step and attempt, in the order in which rank 0 of whichever attempt has written them."""
    words = (line.split() for line in text_of(user.folder / "out" / "steps.log").splitlines())
    return [(int(parts[0]), int(parts[1])) for parts in words if len(parts) == 3]


def never_two(user: User) -> None:
    """No attempt made a step after a later one had begun to."""
    for (step, attempt), (next_step, next_attempt) in pairwise(steps(user)):
        assert next_attempt >= attempt, f"attempt {next_attempt} made step {next_step} after {attempt} made {step}"


def never_interrupted(user: User) -> None:
    """All steps are the first attempt's, one after the other."""
    made = steps(user)
    assert made
    assert {attempt for _, attempt in made} == {1}
    assert [step for step, _ in made] == list(range(made[0][0], made[0][0] + len(made)))
