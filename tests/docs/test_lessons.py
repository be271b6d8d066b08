"""Each complaint on the page of lessons names tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import CHECKOUT, text_of

_NAMED: Final = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_PAGE: Final = text_of("docs/lessons.md")
_ROWS: Final = [line for line in _PAGE.splitlines() if line.startswith("| ") and not line.startswith("| where")]


@cache
def _tests_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        one.name
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test_")
    )


@pytest.mark.parametrize(("file", "name"), sorted(set(_NAMED.findall(_PAGE))))
def test_it_exists(file: str, name: str) -> None:
    assert name in _tests_of(CHECKOUT / file)


@pytest.mark.parametrize("row", _ROWS)
def test_each_complaint_has_one(row: str) -> None:
    assert _NAMED.search(row)
