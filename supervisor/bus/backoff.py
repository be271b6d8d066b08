"""How long to wait before trying again: quick at first, never in step with the other nodes."""

import random
from collections.abc import Callable
from typing import Final

_FIRST_S: Final = 0.2
_CAP_S: Final = 5.0
_JITTER: Final = (0.5, 1.5)


class Backoff:
    """Delays in seconds: 0.1-0.3, then doubling, each spread by half, at most 5."""

    def __init__(self, spread: Callable[[float, float], float] = random.uniform) -> None:
        self._spread = spread
        self._tries = 0

    @property
    def tries(self) -> int:
        """How often it was waited since the last success."""
        return self._tries

    def reset(self) -> None:
        """It worked: the next failure is a first one."""
        self._tries = 0

    def next_delay(self) -> float:
        """The delay before the next try."""
        usual = min(_CAP_S, _FIRST_S * float(1 << min(self._tries, 10)))
        self._tries += 1
        return min(_CAP_S, usual * self._spread(*_JITTER))
