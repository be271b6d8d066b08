"""Private keys as blocks of many lines: `-----BEGIN … PRIVATE KEY-----`."""

import re
from typing import Final

from supervisor.redact.shapes import GONE

LITERAL: Final = "private key"
"""In lower case; a text without it has no such block."""
_BEGIN: Final = re.compile(r"-----begin [a-z0-9 ]{0,40}private key(?: block)?-----")
_END: Final = "-----end "
_LONGEST: Final = 20_000
_BODY: Final = re.compile(
    r"(?:(?:\s|\\[nr]|\[\w{1,20}\]:){1,4}[a-z0-9+/=]{16,128}){1,400}(?:(?:\s|\\[nr]){1,4}[a-z0-9+/]{1,128}={1,2})?"
)
"""What follows where the end is cut off: lines of base64, each perhaps behind a rank's label."""


def without_blocks(text: str, lower: str) -> str:
    """The text with stars in place of private keys. `lower` is the same in lower case, of the same length."""
    pieces: list[str] = []
    at, end = 0, -1
    for begin in _BEGIN.finditer(lower):
        if begin.start() < at:
            continue
        if end < begin.end():
            end = lower.find(_END, begin.end())
            end = len(lower) + _LONGEST + 1 if end < 0 else end
        until = _until(lower, begin.end(), end)
        pieces += (text[at : begin.end()], GONE if until > begin.end() else "")
        at = until
    return "".join([*pieces, text[at:]])


def _until(lower: str, start: int, end: int) -> int:
    """Where the key itself ends; `start` where there is none, or it is gone already."""
    if lower.startswith(GONE, start):
        return start
    if end - start <= _LONGEST:
        return end
    body = _BODY.match(lower, start)
    return body.end() if body else start
