"""Charts, drawn from plain values."""

import re
from xml.etree import ElementTree as ET

import pytest

from supervisor.report.html.charts import Bar, Column, Point, bars, columns, heat, trend
from supervisor.report.html.markup import Markup, element
from supervisor.report.html.svg import cut, fill


def _drawn(markup: Markup) -> ET.Element:
    return ET.fromstring(markup)  # noqa: S314  # our own


def _all(tree: ET.Element, tag: str, class_: str) -> list[ET.Element]:
    return [each for each in tree.iter(tag) if each.get("class") == class_]


def test_a_bar_is_as_long_as_its_share_of_the_longest() -> None:
    """The longest one takes the whole width."""
    rows = [Bar(label=str(value), value=value, shown=f"{value} h", kind="data") for value in (8, 2, 0)]
    tree = _drawn(bars("b", "Lost", rows))
    assert [each.get("width") for each in _all(tree, "rect", "part")] == ["100.00%", "25.00%", "0.00%"]
    assert tree.findtext("title") == "Lost"
    assert tree.findtext("desc") == "8: 8 h; 2: 2 h; 0: 0 h"


def test_a_stack_is_as_high_as_its_sum() -> None:
    """Parts stand on each other from below, and a part of nothing is not drawn."""
    windows = [Column(label="a", parts=(("hardware", 3), ("data", 0), ("network", 1))), Column(label="b", parts=())]
    parts = _all(_drawn(columns("c", "When", windows)), "rect", "part")
    assert [float(each.get("height", "0")) for each in parts] == [112.5, 37.5]
    assert [float(each.get("y", "0")) for each in parts] == [57.5, 20.0]


def test_a_gap_in_a_trend_stays_a_gap() -> None:
    """No line leads over a window of which nothing is known."""
    points = [Point(label=str(at), value=value) for at, value in enumerate((0.9, 0.8, None, 0.7))]
    tree = _drawn(trend("t", "ETTR", points))
    assert len(_all(tree, "line", "line")) == 1
    assert len(_all(tree, "circle", "dot")) == 3
    assert "2: not known" in (tree.findtext("desc") or "")
    assert [each.text for each in _all(tree, "text", "value")] == ["70.0%"]


@pytest.mark.parametrize("values", [(), (None,), (0.0,), (1.0, 1.0), (0.02, 1.7)])
def test_a_trend_stays_in_its_frame(values: tuple[float | None, ...]) -> None:
    """Whatever the ratios are, also those that cannot be."""
    tree = _drawn(trend("t", "ETTR", [Point(label="w", value=value) for value in values]))
    assert all(20 <= float(each.get("cy", "0")) <= 170 for each in tree.iter("circle"))


def test_heat_grows_with_the_number_that_stands_in_the_cell() -> None:
    """Nothing is read from colour alone."""
    tree = _drawn(heat("h", "Nodes", ["w1", "w2", "w3"], [("n1", [0, 1, 8])]))
    assert [each.get("class") for each in tree.iter("rect")] == ["heat-0", "heat-1", "heat-4"]
    assert [each.text for each in tree.iter("text")] == ["n1", "1", "8", "w1", "w3"]


def test_nothing_to_draw_is_no_failure() -> None:
    """An empty fleet has charts without bars."""
    for made in (bars("a", "A", []), columns("b", "B", []), trend("c", "C", []), heat("d", "D", [], [])):
        assert _drawn(made).findtext("desc") == "nothing"


def test_many_windows_have_few_labels_and_the_last_one_among_them() -> None:
    """They would run into each other on a phone."""
    windows = [Column(label=f"{at} Nov", parts=(("data", 1),)) for at in range(1, 31)]
    labels = [each.text for each in _all(_drawn(columns("c", "When", windows)), "text", "axis")]
    assert "30 Nov" in labels
    assert len([text for text in labels if "Nov" in (text or "")]) <= 4


def test_everything_lies_within_the_width() -> None:
    """No place is left of 0% or right of 100%."""
    windows = [Column(label=f"{at}", parts=(("data", at),)) for at in range(40)]
    for each in re.findall(r'="(-?[\d.]+)%"', columns("c", "When", windows)):
        assert 0 <= float(each) <= 100


def test_a_kind_that_nobody_knows_is_unknown() -> None:
    """A newer version may have more classes."""
    assert fill("quantum") == "url(#fill-unknown)"


def test_long_names_lose_their_middle() -> None:
    """Nodes of one rack differ at their end."""
    assert cut("rack-0000000000000017-gpu-0042", 16) == "rack-…7-gpu-0042"
    assert cut("gpu017", 16) == "gpu017"


def test_what_is_put_into_elements_is_escaped() -> None:
    """Texts and attributes alike; only markup is taken as it is."""
    assert element("p", "<b>&", title='"x"') == '<p title="&quot;x&quot;">&lt;b&gt;&amp;</p>'
    assert element("p", element("b", "x")) == "<p><b>x</b></p>"
    assert element("meta", charset="utf-8", content=None) == '<meta charset="utf-8" />'
