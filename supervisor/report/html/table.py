"""Tables that a screen reader can walk through. Pure."""

from collections.abc import Collection, Sequence
from typing import Final

from supervisor.report.html.markup import Content, Markup, element

_WIDE_FROM: Final = 5
"""Columns that do not fit a phone: such a table scrolls by itself, by keyboard, too."""


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[Content]], *, numbers: Collection[int] = ()
) -> Markup:
    """A table whose first column names its rows; `numbers` are the columns that stand flush right."""
    heads = [element("th", text, scope="col", class_=_class(at, numbers)) for at, text in enumerate(head)]
    body = [element("tr", *_cells(row, numbers)) for row in rows]
    made = element(
        "table", element("caption", caption), element("thead", element("tr", *heads)), element("tbody", *body)
    )
    if len(head) < _WIDE_FROM:
        return element("div", made, class_="scroll")
    return element("div", made, class_="scroll", role="region", tabindex=0, aria_label=caption)


def folded(summary: str, content: Markup) -> Markup:
    """Shown on demand, and on paper always."""
    return element("details", element("summary", summary), content)


def figure(title: str, chart: Markup, numbers: Markup) -> Markup:
    """A chart under its title, with the same numbers in a table."""
    return element("figure", element("figcaption", title), chart, folded("The same in numbers", numbers))


def _cells(row: Sequence[Content], numbers: Collection[int]) -> list[Markup]:
    return [
        element("td", cell, class_=_class(at, numbers)) if at else element("th", cell, scope="row")
        for at, cell in enumerate(row)
    ]


def _class(at: int, numbers: Collection[int]) -> str | None:
    return "number" if at in numbers else None
