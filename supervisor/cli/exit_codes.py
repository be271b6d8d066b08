"""What the exit codes of `supervise` mean; `supervise sbatch` has sbatch's own once sbatch has run."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Documented for scripts that branch on them."""

    OK = 0
    FAILED = 1
    """It was tried and did not work; the message says what to do.

    `replay`: at least one verdict differs. `drill`: a fault was not handled as it should be.
    `doctor`: jobs cannot be supervised here; `doctor --security`: others can change what is ours.
    """
    USAGE = 2
    """What was asked for cannot be done as written."""
    UNKNOWN = 3
    """`diagnose`: no verdict."""
    NOT_FOUND = 4
    """No such run or job is known here."""
    NO_SLURM = 5
    """Slurm's commands are not on PATH."""
