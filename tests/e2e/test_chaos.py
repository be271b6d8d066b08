"""Twenty random faults on a real Slurm; the run must come to the end of an undisturbed one."""

import subprocess

import pytest
from product.venv import CHECKOUT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(960)]

_FAULTS, _SEED = 20, 41
_DEADLINE_S = 900.0


def test_a_run_comes_through_twenty_faults() -> None:
    """A broken rule is one line that begins with `chaos: WRONG`."""
    command = [str(CHECKOUT / "scripts" / "chaos"), "--faults", str(_FAULTS), "--seed", str(_SEED), "--haste", "0.6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_DEADLINE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"right: seed {_SEED}, {_FAULTS} faults" in done.stdout
