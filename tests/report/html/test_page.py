"""The page: well-formed, self-contained, readable by ear and by keyboard, and deaf to what names say."""

import base64
import hashlib
import itertools
import re
import unicodedata
from collections import Counter
from dataclasses import replace
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.report.fleet.model import FleetReport
from supervisor.report.html.fleet import filled
from supervisor.report.html.page import page
from supervisor.report.html.style import DARK, LIGHT, style
from tests.report.html import made

_HIDDEN: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_REPORTS: Final = {"full": made.report(), "empty": made.empty()}
_all = pytest.mark.parametrize("report", _REPORTS.values(), ids=_REPORTS.keys())


def _tree(report: FleetReport) -> ET.Element:
    return ET.fromstring(page(report).removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  # our own page


def _words(element: ET.Element) -> str:
    return "".join(element.itertext())


@_all
def test_it_is_well_formed(report: FleetReport) -> None:
    """Every element is closed, every attribute quoted, whatever there is to report."""
    assert _tree(report).tag == "html"
    assert page(report).startswith("<!DOCTYPE html>\n")


@_all
def test_the_conclusion_comes_first_then_what_blocks_then_figures(report: FleetReport) -> None:
    """The one heading of the first level is the conclusion itself."""
    tree = _tree(report)
    assert [_words(each) for each in tree.iter("h1")] == [report.conclusion]
    body = tree.find("body")
    text = _words(tree if body is None else body)
    places = [text.index(each) for each in (report.conclusion, *report.blockers)]
    assert places == sorted(places)
    assert places[-1] < text.index("Interruptions")
    assert ("Nothing blocks." in text) is (not report.blockers)


@_all
def test_headings_skip_no_level(report: FleetReport) -> None:
    """A reader by ear goes from heading to heading."""
    levels = [int(each.tag[1]) for each in _tree(report).iter() if re.fullmatch(r"h[1-6]", each.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@_all
def test_every_reference_leads_somewhere(report: FleetReport) -> None:
    """Names within the page are unique, and each link and label has its target."""
    tree = _tree(report)
    names = Counter(each.get("id") for each in tree.iter() if each.get("id"))
    assert set(names.values()) == {1}
    links = [each.get("href", "")[1:] for each in tree.iter("a")]
    labels = [name for each in tree.iter() for name in each.get("aria-labelledby", "").split()]
    fills = [each.get("fill", "")[5:-1] for each in tree.iter() if each.get("fill", "").startswith("url(#")]
    assert {*links, *labels, *fills} <= set(names)
    assert next(tree.iter("a")).get("class") == "skip"


@_all
def test_it_has_landmarks_a_language_and_a_title(report: FleetReport) -> None:
    """One of each, and every section is called by its heading."""
    tree = _tree(report)
    assert tree.get("lang") == "en"
    assert [len(list(tree.iter(tag))) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    title = tree.findtext("head/title") or ""
    assert title.startswith("OK" if report.is_ok else "NOT OK")
    assert all(each.get("aria-labelledby") for each in tree.iter("section"))
    assert all(each.get("aria-label") for each in tree.iter("nav"))


@_all
def test_pictures_say_what_they_show_and_have_their_numbers_beside_them(report: FleetReport) -> None:
    """Each chart is one image with a title and a description, in a figure with a table; the rest is hidden."""
    tree = _tree(report)
    for picture in tree.iter("svg"):
        assert picture.get("aria-hidden") == "true" or (picture.get("role"), picture[0].tag, picture[1].tag) == (
            "img",
            "title",
            "desc",
        )
    for figure in tree.iter("figure"):
        assert len(figure.findall("svg[@role='img']")) == 1
        assert len(list(figure.iter("table"))) == 1
    assert len(list(tree.iter("figure"))) == (6 if report.interruptions else 0)


def test_tables_name_their_rows_and_columns() -> None:
    """Each has a caption, each head cell a scope, each row as many cells as there are heads."""
    for table in _tree(made.report()).iter("table"):
        assert table[0].tag == "caption"
        heads = list(table[1].iter("th"))
        assert {each.get("scope") for each in heads} == {"col"}
        for row in table[2]:
            assert (row[0].tag, row[0].get("scope"), len(row)) == ("th", "row", len(heads))


def test_no_class_is_told_by_colour_alone() -> None:
    """Five classes have five patterns, and the key names them."""
    tree = _tree(made.report())
    hatches = [tuple(each.get("d") for each in pattern.iter("path")) for pattern in tree.iter("pattern")]
    assert len(set(hatches)) == len(hatches) == 6
    key = next(each for each in tree.iter("ul") if each.get("class") == "key")
    assert [_words(each) for each in key] == ["hardware", "network", "software", "data", "unknown"]


@_all
def test_it_is_one_file_that_loads_nothing_and_runs_nothing(report: FleetReport) -> None:
    """No script, no handler, no address; and the browser is told to allow none."""
    tree = _tree(report)
    tags = {each.tag for each in tree.iter()}
    assert not tags & {"script", "iframe", "object", "embed", "img", "form", "base", "foreignObject", "animate", "use"}
    for each in tree.iter():
        assert not [name for name in each.attrib if name.startswith("on") or name in {"src", "style", "srcset"}]
        assert each.get("href", "#").startswith("#") or each.get("href") == "data:,"
    css = tree.findtext("head/style") or ""
    assert not re.search(r"@import|url\(|<", css)
    policy = next(each.get("content", "") for each in tree.iter("meta") if "http-equiv" in each.attrib)
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")


_hostile = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.text(st.sampled_from("<>\"'&;/= \u202e\u2066\u200b\u2028\x00\x1b\x7f\ud800\ufffe]-!")),
    st.sampled_from(
        [
            "</title></style><script>alert(1)</script>",
            '" onload="alert(1)" x=\'',
            "--><![CDATA[<svg onload=alert(1)>]]>",
            "&lt;img src=x&gt;&#0;",
            "gpu\u202e710upg\u202c",
            "javascript:alert(1)",
            "url(#fill-hardware)",
        ]
    ),
)


@given(node=_hostile, user=_hostile, job=_hostile, cause=_hostile)
@settings(max_examples=60, deadline=None)
def test_names_cannot_change_the_page(node: str, user: str, job: str, cause: str) -> None:
    """Whatever a node, user, job or cause is called: the same elements with the same attributes, and no hidden sign."""
    whole = page(made.report(node=f"n-{node}", user=user, job=job, cause=f"c-{cause}"))
    tree = ET.fromstring(whole.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  # our own page
    assert _shape(tree) == _shape(_tree(made.report()))
    assert not {char for char in whole if unicodedata.category(char) in _HIDDEN} - {"\n"}


def _shape(tree: ET.Element) -> list[tuple[str, list[str]]]:
    return [(each.tag, sorted(each.attrib)) for each in tree.iter()]


def test_a_hostile_name_is_shown_as_it_is_spelled() -> None:
    """An admin must be able to look for it."""
    assert "<b>&amp;</b>" in _words(_tree(made.report(user="<b>&amp;</b>")))
    assert "gpu\N{REPLACEMENT CHARACTER}017" in _words(_tree(made.report(node="gpu\u202e017")))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_enough_to_read(colours: dict[str, str]) -> None:
    """WCAG 2.2 AA: 4.5 for every text on what lies behind it, 3 for the parts of charts."""
    for text in ("text", "quiet", "link", "bad", "good"):
        assert _contrast(colours[text], colours["page"]) >= 4.5, text
        assert _contrast(colours[text], colours["soft"]) >= 4.5, text
    for level in range(1, 5):
        assert _contrast(colours[f"on-heat-{level}"], colours[f"heat-{level}"]) >= 4.5, level
    for part in ("hardware", "network", "software", "data", "unknown", "plain", "edge"):
        assert _contrast(colours[part], colours["page"]) >= 3, part
        assert _contrast(colours[part], colours["hatch"]) >= 3, part


def test_every_colour_is_known_in_both_schemes() -> None:
    """A variable without a value would be drawn black."""
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", style()))
    assert used <= set(LIGHT)
    assert set(LIGHT) == set(DARK)


def test_days_without_an_interruption_are_days() -> None:
    """A chart over time has no holes: from the first day asked for to the last one."""
    report = made.report()
    rows = next(group.rows for group in report.groups if group.by == "day")
    days = filled(rows[3:5], 1, report)
    assert (days[0].name, days[-1].name, len(days)) == ("2026-11-01", "2026-11-30", 30)
    assert sum(day.interruptions for day in days) == sum(row.interruptions for row in rows[3:5])


def test_weeks_keep_their_beginnings() -> None:
    """Weeks are counted from those that the report names."""
    report = made.report()
    rows = [replace(report.groups[0].rows[0], name="2026-11-10")]
    assert [week.name for week in filled(rows, 7, report)] == [
        "2026-11-03", "2026-11-10", "2026-11-17", "2026-11-24",
    ]  # fmt: skip


def test_a_long_time_is_drawn_by_week() -> None:
    """More than a month of days does not fit a phone."""
    report = made.report()
    weeks = tuple(replace(report.groups[0].rows[0], name=name) for name in ("2026-09-01", "2026-11-24"))
    groups = (*report.groups, replace(report.groups[0], by="week", rows=weeks))
    long = replace(report, since=made.UNTIL - 90 * made.DAY_S, groups=groups)
    assert "Interruptions by week" in page(long)
    assert "Interruptions by day" not in page(long)


def test_figures_of_nothing_are_in_words() -> None:
    """No `0 of 0`, no `1 jobs`."""
    nothing = page(made.empty())
    assert "no jobs are known" in nothing
    assert "nothing to handle" in nothing
    assert "0 of 0" not in nothing
    one = page(replace(made.report(), jobs=1, runs=1))
    assert "in 1 job of 1 run<" in one


def test_what_is_not_over_is_told_apart_and_nodes_have_a_next_step() -> None:
    """A share is of what is over; a name alone is no verdict."""
    told = page(made.report())
    assert "38 of 40" in told
    assert "95.0%, 1 not over yet" in told
    assert "gpu017, gpu044. `supervise nodes` weighs each node against chance." in told
