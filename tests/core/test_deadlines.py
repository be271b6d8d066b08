"""Each stage waits longer than the hands that work in it."""

import pytest

from supervisor.core.deadlines import allowed_s
from supervisor.core.state import Stage
from supervisor.settings import Settings


@pytest.mark.parametrize(("slurm_s", "collect_s"), [(3.0, 3.0), (10.0, 10.0), (3.0, 30.0)])
def test_a_slow_slurm_leaves_the_diagnosis_its_time(slurm_s: float, collect_s: float) -> None:
    """One comes after the other; a verdict that comes too late is as good as none."""
    settings = Settings(slurm_deadline_s=slurm_s, collect_deadline_s=collect_s)
    allowed = allowed_s(Stage.COLLECTING, settings)
    assert allowed is not None
    assert allowed > slurm_s + collect_s
