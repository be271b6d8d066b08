"""The one shape of all facts: frozen, keyword-only, tolerant of fields from a newer version."""

from typing import Any

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An immutable fact. Unknown fields are ignored when read, so that a newer writer does no harm."""


def encode(fact: msgspec.Struct) -> bytes:
    """The fact as one line of JSON, without a newline."""
    return msgspec.json.encode(fact)


def plain(fact: msgspec.Struct) -> dict[str, Any]:
    """The fact as built-in types, for `--json` answers."""
    built: dict[str, Any] = msgspec.to_builtins(fact)
    return built
