"""The tests that need a cluster, a browser or PyTorch, in two lanes at once: each mostly waits for Slurm.

What runs in one lane runs one after the other. Each lane has testbeds of its own, which do not see each other.
"""

from pathlib import Path

from checks import run

_WHICH = ["-v", "-m", "cluster or torch or browser"]
# The stories on one testbed of four nodes: half of the time. Whatever is not named here is in the other lane.
STORIES = (
    "tests/e2e/test_ends.py",
    "tests/e2e/test_node_loss.py",
    "tests/e2e/test_preemption.py",
    "tests/e2e/test_program_faults.py",
    "tests/e2e/test_rank_lines.py",
    "tests/e2e/test_same_as_sbatch.py",
    "tests/e2e/test_site_ledger.py",
    "tests/e2e/test_survival.py",
)


def tests(python: Path, *, deadline_s: float) -> int:
    """Run them all; 0 when all pass. What the second lane says is shown when both have ended."""
    rest = [f"--ignore={path}" for path in STORIES]
    return run.beside(
        run.pytest(python, [*_WHICH, *STORIES]), run.pytest(python, [*_WHICH, *rest]), deadline_s=deadline_s
    )
