"""supervisord's package is called `supervisor` too, and container images have it."""

from pathlib import Path

import pytest

from supervisor.version import VERSION
from tests.packaging.environment import Environment

_THEIRS = "supervisor>=4.2"
_PROCESSES = (
    "import supervisor.daemon.main, supervisor.agent.main, supervisor.cli.sbatch, supervisor.cli.why; print('ok')"
)


def _assert_ours_works(environment: Environment) -> None:
    assert "sbatch" in environment.says("supervise", "--help")
    assert environment.says("supervise", "--version") == f"supervise {VERSION}\n"
    assert environment.says("python", "-c", "import supervise_beat; supervise_beat.beat(1); print('ok')") == "ok\n"
    assert environment.says("python", "-I", "-c", _PROCESSES) == "ok\n"


@pytest.mark.parametrize("is_ours_first", [True, False], ids=["ours first", "theirs first"])
def test_ours_works_beside_theirs_and_after_it(empty: Environment, wheel: Path, *, is_ours_first: bool) -> None:
    """In whatever order the two were installed, ours works, and still does when theirs is taken out again."""
    for package in [str(wheel), _THEIRS] if is_ours_first else [_THEIRS, str(wheel)]:
        empty.install("--no-compile", package)
    _assert_ours_works(empty)
    assert empty.says("supervisord", "--version").startswith("4.")
    empty.uninstall("supervisor")
    _assert_ours_works(empty)


def test_theirs_works_after_ours(empty: Environment, wheel: Path) -> None:
    """Taking ours out leaves supervisord as it was."""
    empty.install("--no-compile", _THEIRS)
    empty.install("--no-compile", "--no-deps", str(wheel))
    empty.uninstall("slurm-supervise")
    assert empty.says("supervisord", "--version").startswith("4.")
    assert not (empty.folder / "bin" / "supervise").exists()
