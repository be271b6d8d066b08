"""The value of a setting on a screen."""

import re
from typing import Any, Final

_WEB: Final = re.compile(r"\b(https?://)(?:[^/\s@]*@)?([^/\s?#]*)\S*")
_OTHER: Final = re.compile(r"(?<!\S)(?!https?://|mailto:)([A-Za-z][\w+.-]*:)\S+")


def shown(name: str, value: Any) -> Any:
    """The value as others may see it: who has the path of a webhook, or a chat's URL, can post there."""
    if name != "notify" or not isinstance(value, str):
        return value
    return _OTHER.sub(r"\1***", _WEB.sub(r"\1\2/***", value))


def as_text(value: Any) -> str:
    """As a file has it, without quotes; `none` for nothing."""
    return str(value).lower() if isinstance(value, bool) else str(value) or "none"
