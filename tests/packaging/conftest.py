"""The wheel, and environments it is installed in: built with the package index that pip is set up for."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.packaging.environment import PIP, Environment


@pytest.fixture(scope="session")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(checkout)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 0, f"the wheel cannot be built (is the package index reachable?): {done.stderr[-1000:]}"
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the default install and nothing else; not to be changed."""
    environment = _fresh(tmp_path_factory.mktemp("installed"))
    environment.install(str(wheel))
    return environment


@pytest.fixture
def empty(tmp_path: Path) -> Environment:
    """An environment without any package, for one test."""
    return _fresh(tmp_path / "environment")


def _fresh(folder: Path) -> Environment:
    venv.create(folder, symlinks=True, with_pip=False)
    return Environment(folder, f"{sys.version_info.major}.{sys.version_info.minor}")
