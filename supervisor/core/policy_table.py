"""The table of policy: what is done after each cause. Built in (`policy.toml`), and what the `policy` setting changes.

The setting is one line, `network.budget=4 port_in_use.wait_s=10`, so that it can stand in every source of settings and
travels with them in `run.json`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from supervisor.model.base import Fact
from supervisor.model.verdict import Class, Verdict

DEFAULT: Final = "default"
_CLASSES: Final = frozenset(one.value for one in Class)
_DOUBLINGS: Final = 30
"""More would leave the range of a float long after any limit."""


class Rule(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row. None: as in the row of the class, then as in `default`."""

    budget: int | None = None
    """Restarts over the whole run; of `default`: for each class."""
    wait_s: float | None = None
    """Seconds before the first restart; each further one waits twice as long."""
    wait_most_s: float | None = None
    """Seconds that no pause is longer than."""
    one_more: bool | None = None
    """One more try where the taxonomy says that a rerun does not help."""
    rollback: bool | None = None
    """Do not resume again from the checkpoint that the attempt came from."""


class Limit(Fact, frozen=True, kw_only=True):
    """How often a rerun may happen, and by which row."""

    name: str
    """Of a cause or of a class."""
    budget: int


class Row(Fact, frozen=True, kw_only=True):
    """What counts for one cause, with nothing left open."""

    limits: tuple[Limit, ...]
    """The cause's own, where it has one, and its class's."""
    wait_s: float
    wait_most_s: float
    one_more: bool
    rollback: bool

    def pause(self, before: int) -> float:
        """Seconds to wait, after so many restarts for the same cause."""
        return float(min(self.wait_most_s, self.wait_s * 2.0 ** min(before, _DOUBLINGS)))


class Table(Fact, frozen=True, kw_only=True):
    """All rows by name: `default`, classes, causes."""

    rules: Mapping[str, Rule]

    def row(self, cause: str, cls: Class) -> Row:
        """What counts for this cause."""
        names = (cause, cls.value, DEFAULT)
        own, of_class, rest = (self.rules.get(name, Rule()) for name in names)
        merged = {
            field: next(value for rule in (own, of_class, rest) if (value := getattr(rule, field)) is not None)
            for field in ("wait_s", "wait_most_s", "one_more", "rollback")
        }
        shared = of_class.budget if of_class.budget is not None else rest.budget
        limits = ((cause, own.budget), (cls.value, shared))
        return Row(limits=tuple(Limit(name=name, budget=most) for name, most in limits if most is not None), **merged)


@lru_cache(maxsize=8)
def table(changes: str = "") -> Table:
    """The built-in table with these changes. Raises `ValueError` as `parse` does."""
    text = files("supervisor.core").joinpath("policy.toml").read_text(encoding="utf-8")
    rules = msgspec.convert(tomllib.loads(text), dict[str, Rule])
    for name, rule in parse(changes).items():
        given = {field: value for field, value in msgspec.structs.asdict(rule).items() if value is not None}
        rules[name] = msgspec.structs.replace(rules.get(name, Rule()), **given)
    return Table(rules=rules)


def row(verdict: Verdict, changes: str = "") -> Row:
    """What counts for this verdict's cause."""
    return table(changes).row(verdict.cause, verdict.cls)


def parse(changes: str) -> dict[str, Rule]:
    """`NAME.FIELD=VALUE` with blanks between them, as rows. Raises `ValueError`: which word is wrong, and why."""
    rows: dict[str, dict[str, Any]] = {}
    for word in changes.split():
        name, field, value = _parts(word)
        rows.setdefault(name, {})[field] = value
    return {name: _rule(name, fields) for name, fields in rows.items()}


def as_text(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of a settings file (`[policy.network]`, `budget = 4`) as the line that `parse` reads."""
    return " ".join(f"{name}.{field}={_written(value)}" for name, row in rows.items() for field, value in row.items())


def merged(weaker: str, stronger: str) -> str:
    """Both changes as one line; where both set the same field of a row, the stronger one counts."""
    fields = dict(word.split("=", 1) for word in f"{weaker} {stronger}".split())
    return " ".join(f"{place}={value}" for place, value in fields.items())


def named(changes: str) -> Iterator[str]:
    """The classes and causes that the changes name."""
    return (name for name in parse(changes) if name != DEFAULT)


def is_class(name: str) -> bool:
    """The row is one of a whole class."""
    return name in _CLASSES


def _parts(word: str) -> tuple[str, str, str]:
    place, equals, value = word.partition("=")
    name, dot, field = place.rpartition(".")
    if not (equals and dot and name and field):
        raise ValueError(f"{word!r} is not NAME.FIELD=VALUE, such as network.budget=4")
    return name, field, value


def _rule(name: str, fields: Mapping[str, str]) -> Rule:
    try:
        rule = msgspec.convert(fields, Rule, strict=False)
    except msgspec.ValidationError as exc:
        known = ", ".join(Rule.__struct_fields__)
        raise ValueError(f"{name}: {exc}; fields are {known}") from exc
    for field in ("budget", "wait_s", "wait_most_s"):
        value = getattr(rule, field)
        if value is not None and not 0 <= value < float("inf"):
            raise ValueError(f"{name}.{field} must be 0 or more")
    return rule


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
