"""The tests that need a cluster, a browser or PyTorch, in lanes beside each other: each mostly waits for Slurm.

What runs in one lane runs one after the other. Each lane has testbeds of its own, which do not see each other.
"""

from pathlib import Path

from checks import run

_WHICH = ["-v", "-m", "cluster or torch or browser"]
# Stories on testbeds of four nodes. Whatever is not named here is in the last lane.
NAMED = (
    (
        "tests/e2e/test_accounting.py",
        "tests/e2e/test_ends.py",
        "tests/e2e/test_node_loss.py",
        "tests/e2e/test_preemption.py",
        "tests/e2e/test_program_faults.py",
        "tests/e2e/test_rank_lines.py",
        "tests/e2e/test_same_as_sbatch.py",
    ),
    (
        "tests/e2e/test_dependents.py",
        "tests/e2e/test_hang.py",
        "tests/e2e/test_site_ledger.py",
        "tests/e2e/test_slurm_load.py",
        "tests/e2e/test_standby.py",
        "tests/e2e/test_survival.py",
        "tests/e2e/test_suspend.py",
        "tests/e2e/test_time_limit_save.py",
    ),
    (
        "tests/e2e/test_drill.py",
        "tests/e2e/test_slurm_first.py",
        "tests/e2e/test_splits.py",
        "tests/e2e/test_takeover.py",
    ),
    (
        "tests/e2e/test_chaos.py",
        "tests/e2e/test_own_world.py",
        "tests/e2e/test_surface.py",
        "tests/e2e/test_surface_clusters.py",
    ),
)


def tests(python: Path, *, deadline_s: float) -> int:
    """Run them all; 0 when all pass. What the other lanes say is shown when all have ended."""
    named = [run.pytest(python, [*_WHICH, *paths]) for paths in NAMED]
    rest = [f"--ignore={path}" for paths in NAMED for path in paths]
    return run.beside(*named, run.pytest(python, [*_WHICH, *rest]), deadline_s=deadline_s)
