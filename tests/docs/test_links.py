"""Links between documents, and files that they name, lead somewhere."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import CHECKOUT, PAGES, inline_code, name_of

_PAGES = sorted({*PAGES, *CHECKOUT.glob("docs/decisions/*.md"), CHECKOUT / "CHANGELOG.md"})
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
_FILE = re.compile(r"(?:[\w.-]+/)*[\w-]+\.(?:py|md|toml|sh|sbatch)|(?:[\w-]+/)+(?:\d{4})?")
_OF_RUNS = {
    "attempts",
    "flight",
    "incidents",
    "jobs",
    "kernel",
    "nvml",
    "ranks",
    "rdma",
    "script",
    "stacks",
    "submitted",
}
"""Folders of run folders and bundles."""
_WRITTEN = {"config.toml"}
"""Files of the user."""


@cache
def _tree() -> frozenset[str]:
    """Every file and folder of the checkout, with a slash in front and folders with one behind."""
    found = set()
    for top in ("supervisor", "docs", "scripts", "tests", "plugins", "systemd", ".ci"):
        for path in (CHECKOUT / top).rglob("*"):
            if "__pycache__" not in path.parts:
                found.add(f"/{path.relative_to(CHECKOUT)}" + ("/" if path.is_dir() else ""))
        found.add(f"/{top}/")
    return frozenset(found | {f"/{path.name}" for path in CHECKOUT.glob("*") if path.is_file()})


@pytest.mark.parametrize("page", _PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file, and to a title of it where the link names one."""
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        name, _, title = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if title:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert title in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in titles}, link


def _files_named(page: Path) -> set[str]:
    pieces = inline_code(page.read_text(encoding="utf-8"))
    return {piece.removeprefix("./") for piece in pieces if _FILE.fullmatch(piece.removeprefix("./"))}


@pytest.mark.parametrize("page", _PAGES, ids=name_of)
def test_files_that_are_named_are_there(page: Path) -> None:
    """By their whole path or its end; `decisions/0007` is the beginning of a name."""
    names = {name for name in _files_named(page) - _WRITTEN if name.partition("/")[0] not in _OF_RUNS}
    assert not [name for name in names if not any(path.endswith(f"/{name}") or f"/{name}-" in path for path in _tree())]


def test_files_are_found() -> None:
    """The checks above are not empty by accident."""
    found = _files_named(CHECKOUT / "docs" / "architecture.md")
    assert {"core/proof.py", "judge/rules/", "judge/choose.py"} <= found
