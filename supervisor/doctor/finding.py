"""What one check says: a fact in few words, and where it is not well, what it costs and what to do. Pure."""

from collections.abc import Iterable
from enum import StrEnum

from supervisor.model.base import Fact


class Level(StrEnum):
    """How good it is. `doctor` is NOT USABLE with one `fail`, and counts the `limit`s."""

    OK = "ok"
    LIMIT = "limit"
    """Something that supervise does elsewhere is not done here, or costs time."""
    WARN = "warn"
    """Worth knowing; supervise has another way."""
    FAIL = "fail"
    """Jobs cannot be supervised here."""
    UNKNOWN = "unknown"
    """Nobody looked, or there was no answer. Never read as good."""


class Finding(Fact, frozen=True, kw_only=True):
    """One row."""

    check: str = ""
    """Its stable name, for scripts; given by the table."""
    topic: str = ""
    """What is well about one topic shares a row."""
    level: Level
    text: str
    cost: str = ""
    """What it costs whoever runs jobs here; empty: nothing."""
    remedy: str = ""
    """What to do; empty only where all is well."""


def ok(text: str) -> Finding:
    """All is well."""
    return Finding(level=Level.OK, text=text)


def limit(text: str, cost: str, remedy: str) -> Finding:
    """It works, but not all of it, or not at once."""
    return Finding(level=Level.LIMIT, text=text, cost=cost, remedy=remedy)


def warn(text: str, cost: str, remedy: str) -> Finding:
    """Worth knowing."""
    return Finding(level=Level.WARN, text=text, cost=cost, remedy=remedy)


def fail(text: str, cost: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding(level=Level.FAIL, text=text, cost=cost, remedy=remedy)


def unknown(text: str, cost: str, remedy: str) -> Finding:
    """Nobody knows yet."""
    return Finding(level=Level.UNKNOWN, text=text, cost=cost, remedy=remedy)


def of_level(findings: Iterable[Finding], level: Level) -> list[Finding]:
    """Those of one level, in their order."""
    return [finding for finding in findings if finding.level is level]
