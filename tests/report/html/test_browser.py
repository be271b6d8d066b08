"""The page in a real Chromium: on a phone, on a screen, on paper; light and dark; by keyboard and by ear."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from supervisor.report.html.page import page
from tests.report.html import made
from tests.report.html.browser import PROGRAM, Page, browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="Chromium is not installed"),
]
_HOSTILE: Final = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e&amp;" + "W" * 90
_REPORTS: Final = {
    "full": made.report(),
    "empty": made.empty(),
    "hostile": made.report(node=_HOSTILE, user=_HOSTILE, job=_HOSTILE, cause=_HOSTILE),
}
_WIDE: Final = "[document.documentElement.scrollWidth, innerWidth]"
_OPEN: Final = "document.querySelectorAll('details').forEach(each => { each.open = true })"
_BACKGROUND: Final = "getComputedStyle(document.body).backgroundColor"
_A4_WITHIN_MARGINS: Final = 680
"""180 mm in CSS pixels."""


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages")
    for name, report in _REPORTS.items():
        (place / f"{name}.html").write_text(page(report), encoding="utf-8")
    return place


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(360, 800), (1280, 900)], ids=["phone", "screen"])
@pytest.mark.parametrize("name", _REPORTS)
def test_it_fits_and_nothing_is_wrong_with_it(
    tab: Page, folder: Path, name: str, size: tuple[int, int], scheme: str
) -> None:
    """Nothing sticks out sideways, closed or open; the console is silent; nothing but the file is asked for."""
    path = folder / f"{name}.html"
    tab.open(path, width=size[0], height=size[1], scheme=scheme)
    assert tab.value(_WIDE) == [size[0], size[0]]
    tab.value(_OPEN)
    assert tab.value(_WIDE) == [size[0], size[0]]
    assert tab.complaints() == []
    assert tab.requests() == [path.as_uri(), "data:,"][: len(tab.requests())]
    assert tab.value(_BACKGROUND) == ("rgb(20, 23, 28)" if scheme == "dark" else "rgb(255, 255, 255)")


@pytest.mark.parametrize("name", _REPORTS)
def test_it_prints_light_whole_and_within_the_paper(tab: Page, folder: Path, tmp_path: Path, name: str) -> None:
    """On A4, also from a dark screen, with every table shown and nothing cut off."""
    tab.open(folder / f"{name}.html", width=_A4_WITHIN_MARGINS, height=900, scheme="dark", media="print")
    assert tab.value(_BACKGROUND) == "rgb(255, 255, 255)"
    assert tab.value(_WIDE) == [_A4_WITHIN_MARGINS] * 2
    assert tab.value("[...document.querySelectorAll('td')].filter(each => each.offsetHeight === 0).length") == 0
    tab.paper(tmp_path / "page.pdf")
    pdf = (tmp_path / "page.pdf").read_bytes()
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert boxes
    assert {(round(float(width)), round(float(height))) for width, height in boxes} == {(595, 842)}


def test_it_can_be_gone_through_with_the_keyboard(tab: Page, folder: Path) -> None:
    """The first stop skips to the figures; where one is shows; what is folded opens."""
    tab.open(folder / "full.html", width=1280, height=900)
    left = "document.activeElement.getBoundingClientRect().left"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    tab.press("Tab")
    assert tab.value("document.activeElement.className") == "skip"
    assert tab.value(left) >= 0
    assert tab.value(outline) == "solid"
    tab.press("Enter")
    assert tab.value("document.activeElement.id") == "main"
    while tab.value("document.activeElement.tagName") != "SUMMARY":
        tab.press("Tab")
    assert tab.value(outline) == "solid"
    tab.press("Enter")
    assert tab.value("document.activeElement.parentElement.open") is True


def test_it_can_be_gone_through_by_ear(tab: Page, folder: Path) -> None:
    """Landmarks, one heading of the first level, images and regions with names, tables with captions."""
    tab.open(folder / "full.html", width=1280, height=900)
    tab.value(_OPEN)
    nodes = [node for node in tab.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]
    roles = [role for role, _ in named]
    assert [roles.count(role) for role in ("banner", "main", "contentinfo")] == [1, 1, 1]
    assert ("navigation", "Contents") in named
    assert ("heading", made.report().conclusion) in named
    for role in ("image", "region", "table"):
        assert roles.count(role) > 4
        assert all(name for found, name in named if found == role)
    assert {"columnheader", "rowheader"} <= set(roles)


def test_targets_are_large_enough_for_a_finger(tab: Page, folder: Path) -> None:
    """WCAG 2.2 AA: 24 pixels for what is pressed."""
    tab.open(folder / "full.html", width=360, height=800)
    heights = tab.value("[...document.querySelectorAll('nav a, summary')].map(each => each.offsetHeight)")
    assert heights
    assert min(heights) >= 24
