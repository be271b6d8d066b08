"""docs/slurm-surface.md: each row has its test, and nothing is said to be tested that is not."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import CHECKOUT, rows, text_of

_PAGE = "docs/slurm-surface.md"
_NONE = "none"


def _rows() -> list[tuple[str, ...]]:
    return list(rows(text_of(_PAGE)))


def _sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "tests").rglob("test_*.py"))


def test_each_row_names_its_test() -> None:
    """Or says that there is none, and then that it was not tried, or is not supported, or measured only."""
    for form, what, test in _rows():
        has_none = re.search(r"not tried|not supported|without a test", what) is not None
        assert (test == _NONE) == has_none, form


@pytest.mark.parametrize("name", sorted({name for *_, test in _rows() for name in re.findall(r"`([^`]+)`", test)}))
def test_a_test_that_is_named_exists(name: str) -> None:
    """With its parameter, where the table of forms has one."""
    function, _, form = name.partition("[")
    assert f"def {function}(" in _sources()
    forms = (Path(__file__).parents[1] / "e2e" / "test_surface.py").read_text(encoding="utf-8")
    assert not form or f'"{form.rstrip("]")}": Form(' in forms
