"""Lines that differ in nothing but numbers: which digits no pattern tells apart, so that one answer serves them all."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

_DIGITS: Final = frozenset("0123456789")
_SAID_AGAIN: Final = re.compile(r"\\\d|\(\?P=")
"""A group that must occur once more (or an octal number): which digits it compares stands nowhere."""
_PARTS: Final = re.compile(r"\\.|(?P<often>\{\d*,?\d*\})|(?P<set>\[(?:\\.|[^\]\\])+\])", re.DOTALL)
_RANGE: Final = re.compile(r"(\d)-(\d)")
_OPEN_RANGE: Final = re.compile(r"\d-|-\d")
"""Perhaps a range that begins or ends with another character."""


def told_apart(pattern: str) -> frozenset[str]:
    """Digits that the pattern treats otherwise than other digits: all where that is hard to tell."""
    if _SAID_AGAIN.search(pattern):
        return _DIGITS
    left = _PARTS.sub(_without_any_digit, pattern)
    named = {str(digit) for low, high in _RANGE.findall(left) for digit in range(int(low), int(high) + 1)}
    if _OPEN_RANGE.search(_RANGE.sub("", left)):
        return _DIGITS
    return _DIGITS.intersection(left) | named


def mask(patterns: Iterable[str]) -> bytes:
    """A table for `bytes.translate`: lines that it makes equal are equal to each of these patterns."""
    kept: frozenset[str] = frozenset()
    return _mask(kept.union(*map(told_apart, patterns)))


def _without_any_digit(part: re.Match[str]) -> str:
    """Neither how often something occurs tells digits apart nor a set that has them all."""
    return "" if part["often"] else part[0].replace("0-9", "") if part["set"] else part[0]


@cache
def _mask(kept: frozenset[str]) -> bytes:
    alike = "".join(sorted(_DIGITS - kept)).encode()
    return bytes.maketrans(alike, alike[:1] * len(alike))
