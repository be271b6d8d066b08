"""Takes what looks like a secret out of a text that others may read. Pure."""

import re
from typing import Final

_GONE: Final = "***"
_PATTERNS: Final = (
    # The password in https://user:password@host
    (re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), rf"\1{_GONE}@"),
    # token=…, "api_key": "…", Authorization: Basic …
    (
        re.compile(
            r"(?i)((?:token|secret|api[_-]?key|access[_-]?key|credentials?|authorization)"
            r"[\"']?\s*[=:]\s*(?:(?:basic|bearer)\s+)?[\"']?)[^\s\"',;&]{4,}"
        ),
        rf"\1{_GONE}",
    ),
    # --password …, Bearer …: a "token 50257" is none.
    (re.compile(r"(?i)((?:passw(?:or)?d|bearer)[\"']?[\s=:]+[\"']?)[^\s\"',;&]{4,}"), rf"\1{_GONE}"),
    # What the well-known services hand out.
    (re.compile(r"\b(?:hf_|sk-|gh[pousr]_|glpat-|xox[abprs]-|AKIA|ASIA|ya29\.|eyJ)[\w.-]{8,}"), _GONE),
    # Anything long that is no word: hexadecimal or base64 keys.
    (re.compile(r"\b(?=[A-Za-z+=]*\d)[A-Za-z0-9+=]{32,}\b"), _GONE),
)


def redacted(text: str) -> str:
    """The text with `***` in place of passwords, tokens and keys. It errs on the side of taking too much."""
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text
