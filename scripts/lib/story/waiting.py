"""Waiting for a condition, always with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_POLL_S = 0.1


class Late(Exception):
    """A condition did not come true within its deadline; the message names both."""


def wait_for(look: Callable[[], T | None], what: str, deadline_s: float, *, poll_s: float = _POLL_S) -> T:
    """The first true answer of `look`; raises Late after `deadline_s` seconds."""
    until = time.monotonic() + deadline_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            raise Late(f"{what}: not within {deadline_s:.0f} s")
        time.sleep(poll_s)
