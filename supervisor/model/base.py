"""The one shape of all facts: frozen, keyword-only, tolerant of fields from a newer version."""

from typing import Any

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An immutable fact. Unknown fields are ignored when read, so that a newer writer does no harm."""


def encode(fact: msgspec.Struct) -> bytes:
    """The fact as one line of JSON, without a newline."""
    return msgspec.json.encode(fact)


def encode_readable(fact: msgspec.Struct) -> bytes:
    """As `encode`, for people and records: a path whose name is no UTF-8 has a hole, better than nothing on record."""
    try:
        return encode(fact)
    except UnicodeEncodeError:
        return msgspec.json.encode(readable(msgspec.to_builtins(fact)))


def plain(fact: msgspec.Struct) -> dict[str, Any]:
    """The fact as built-in types, for `--json` answers."""
    built: dict[str, Any] = msgspec.to_builtins(fact)
    return built


def readable(value: Any) -> Any:  # built-in types, nested
    """Built-in types with every text in UTF-8."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {readable(name): readable(item) for name, item in value.items()}
        case list() | tuple():
            return [readable(item) for item in value]
    return value
