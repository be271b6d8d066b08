"""Dependencies are few, used, and each says why it is there."""

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]
_TEXT = (_CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
_PROJECT: Final[dict[str, Any]] = tomllib.loads(_TEXT)["project"]
_IMPORTED_AS: Final = {"nvidia-ml-py": "pynvml", "google-re2": "re2"}
_BY_NAME_ONLY: Final = {"s3fs", "pyslurm"}
"""fsspec imports s3fs where a URL begins with `s3://`; pyslurm is loaded where it fits the running Slurm."""
_NEWER: Final = {"compression"}
"""Of the standard library of Python 3.14; where it lacks, an extra stands in for it."""
_COMES_WITH: Final = {"paho": "aiomqtt"}
"""aiomqtt runs on it and hands its settings through: they are one dependency."""


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return found[0]


def _module(requirement: str) -> str:
    name = _name(requirement)
    return _IMPORTED_AS.get(name, name.replace("-", "_"))


_DEFAULT: Final = [_module(each) for each in _PROJECT["dependencies"]]
_EXTRAS: Final = [_module(each) for extra in _PROJECT["optional-dependencies"].values() for each in extra]


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.partition(".")[0] for name in names}


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """What the product imports that is neither its own nor the standard library's."""
    modules = (_CHECKOUT / "supervisor").rglob("*.py")
    return set().union(*map(_imports, modules)) - sys.stdlib_module_names - _NEWER - {"supervisor", "supervise_beat"}


@pytest.mark.parametrize("module", [*_DEFAULT, *(module for module in _EXTRAS if module not in _BY_NAME_ONLY)])
def test_a_dependency_is_imported(module: str, imported: set[str]) -> None:
    """What is installed is used."""
    assert module in imported


def test_what_is_imported_is_a_dependency(imported: set[str]) -> None:
    """The product must not live on what its development environment happens to hold."""
    assert {_COMES_WITH.get(name, name) for name in imported} <= {*_DEFAULT, *_EXTRAS}


def _above(line_start: str) -> str:
    lines = [line.strip() for line in _TEXT.splitlines()]
    return lines[next(number for number, line in enumerate(lines) if line.startswith(line_start)) - 1]


@pytest.mark.parametrize("requirement", _PROJECT["dependencies"])
def test_a_dependency_says_why(requirement: str) -> None:
    """Each dependency has a comment of its own above it."""
    assert _above(f'"{requirement}"').startswith("#")


@pytest.mark.parametrize("extra", _PROJECT["optional-dependencies"])
def test_an_extra_says_why(extra: str) -> None:
    """So has each extra."""
    assert _above(f"{extra} = [").startswith("#")


def test_the_mqtt_client_is_bounded() -> None:
    """The 3.x of aiomqtt has another interface: it must not arrive by itself."""
    assert "aiomqtt>=2.5,<3" in _PROJECT["dependencies"]
