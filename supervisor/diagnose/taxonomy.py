"""The table of causes: class, whether a rerun helps, whether the node leaves. The data are `taxonomy.toml`."""

import tomllib
from functools import cache
from importlib.resources import files

import msgspec

from supervisor.model.base import Fact
from supervisor.model.verdict import Class, Retry

UNATTRIBUTED = "unattributed"


class Row(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the table says of one cause."""

    retry: Retry
    says: str
    """The cause in words, to be followed by where it happened."""
    exclude: bool = False
    """The blamed node leaves the allocation and the resubmission."""
    odd: bool = False
    """The blamed node leaves, and a rerun without it can succeed, only where this one node is set up differently."""
    spreads: bool = False
    """Peers of the faulty node show the same sign: only the first one is to blame."""
    how: str = ""
    """What a rerun must do beside running again: back off, roll back."""
    next: str = ""
    """What a person can do."""


class Cause(Fact, frozen=True, kw_only=True):
    """One cause with its class."""

    name: str
    cls: Class
    row: Row


@cache
def causes() -> dict[str, Cause]:
    """All causes by name. Raises `ValueError` for a table that is no table, or a name that stands in two classes."""
    text = files("supervisor.diagnose").joinpath("taxonomy.toml").read_text(encoding="utf-8")
    return parse(text)


def parse(text: str) -> dict[str, Cause]:
    """The table from its text; raises as `causes` does."""
    table = msgspec.convert(tomllib.loads(text), dict[Class, dict[str, Row]])
    found: dict[str, Cause] = {}
    for cls, rows in table.items():
        for name, row in rows.items():
            if name in found:
                raise ValueError(f"cause {name} stands in class {found[name].cls} and in class {cls}")
            found[name] = Cause(name=name, cls=cls, row=row)
    return found


def cause(name: str) -> Cause:
    """The cause of this name; one that the table does not know is `unattributed`."""
    return causes().get(name, causes()[UNATTRIBUTED])
