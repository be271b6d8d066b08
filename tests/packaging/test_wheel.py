"""The wheel holds the product, whole, and nothing else."""

import email
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from supervisor.version import VERSION

_DATA = [
    "supervisor/diagnose/packs/slurm.toml",
    "supervisor/diagnose/taxonomy.toml",
    "supervisor/core/policy.toml",
    "supervisor/slurm/shim/srun",
    "supervisor/slurm/shim/function.bash",
    "supervisor/keeper/keeper.py",
    "supervisor/runtime/boot.py",
    "supervisor/beat/supervise_beat.py",
    "supervisor/drill/suite-standard-1.toml",
    "supervisor/drill/trainer.py",
]


@pytest.fixture(scope="module")
def project(checkout: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _read(wheel: Path, name: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name)


def _info(name: str) -> str:
    return f"slurm_supervise-{VERSION}.dist-info/{name}"


def test_every_module_is_in_it(wheel: Path, checkout: Path) -> None:
    """What lies in `supervisor` in the checkout is installed."""
    modules = (path for path in (checkout / "supervisor").rglob("*.py") if not path.is_symlink())
    names = {str(path.relative_to(checkout)) for path in modules}
    assert names <= _names(wheel)


@pytest.mark.parametrize("name", _DATA)
def test_files_that_are_read_at_run_time_are_in_it(wheel: Path, checkout: Path, name: str) -> None:
    """Tables, the shim, and what is copied into run folders come along unchanged."""
    assert _read(wheel, name) == (checkout / name).read_bytes()


def test_users_find_one_module_of_ours(wheel: Path, checkout: Path) -> None:
    """Top-level names are `supervisor`, which users never import, and `supervise_beat`, which is the one ranks use."""
    tops = {name.partition("/")[0] for name in _names(wheel)}
    assert tops == {"supervisor", "supervise_beat.py", _info("").rstrip("/")}
    assert _read(wheel, "supervise_beat.py") == (checkout / "supervisor/beat/supervise_beat.py").read_bytes()


def test_the_licence_comes_along(wheel: Path, checkout: Path) -> None:
    """Apache-2.0 asks for its text in every copy."""
    assert _read(wheel, _info("licenses/LICENSE")) == (checkout / "LICENSE").read_bytes()


def test_the_wheel_says_what_the_project_says(wheel: Path, project: dict[str, Any]) -> None:
    """Name, version, Python and extras are those of `pyproject.toml`; the code knows the same version."""
    told = email.message_from_bytes(_read(wheel, _info("METADATA")))
    assert told["Name"] == project["name"] == "slurm-supervise"
    assert told["Version"] == project["version"] == VERSION
    assert told["Requires-Python"] == project["requires-python"]
    assert set(told.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
