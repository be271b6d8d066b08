"""Numbers in files that anybody may have written."""

import re
from typing import Final

# `isdigit` is true of superscripts, which `int` refuses; of more than 4300 digits `int` refuses all.
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_MOST: Final = 10**9


def number_in(told: object) -> int | None:
    """The number below 1,000,000,000 that this text or number is. None for all else, also for negative ones."""
    if isinstance(told, int) and not isinstance(told, bool):
        return told if 0 <= told < _MOST else None
    return int(told) if isinstance(told, str) and _NUMBER.fullmatch(told) else None
