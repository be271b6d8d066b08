"""What a name says of its checkpoint."""

import pytest

from supervisor.checkpoint.names import is_aside, is_unfinished, step_of


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step-000120.npz", 120),
        ("global_step120", 120),
        ("checkpoint-500", 500),
        ("iter_0000100", 100),
        ("step=12", 12),
        ("120", 120),
        ("120.pt", 120),
        ("epoch=3-step=1200.ckpt", 1200),
        ("model_step_77.safetensors", 77),
        ("ckpt_0400", 400),
        ("latest", None),
        ("best-val.ckpt", None),
        ("timestep9", None),
        ("epoch-3.pt", None),
        ("version_2", None),
    ],
)
def test_step_of(name: str, step: int | None) -> None:
    """A step is read from the usual names, and from no other number."""
    assert step_of(name) == step


@pytest.mark.parametrize("name", ["step-1.npz.tmp", "tmp-checkpoint-240", ".step-1.pt", "step-1.partial", "step-1~"])
def test_unfinished(name: str) -> None:
    """Names of files that somebody was writing."""
    assert is_unfinished(name)


@pytest.mark.parametrize("name", ["step-1.npz", "checkpoint-500", "attempt-step-3", "temperature-step-1"])
def test_finished(name: str) -> None:
    """Nothing else counts as unfinished."""
    assert not is_unfinished(name)


def test_aside() -> None:
    """A description beside a checkpoint is none."""
    assert is_aside("step-1.json")
    assert is_aside("step-1.pt.sha256")
    assert not is_aside("step-1.pt")
