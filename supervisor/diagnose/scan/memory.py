"""What lines meant that were read before: most lines of a log have been there already, but for their numbers."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from supervisor.diagnose.scan.hit import Hit

_BYTES: Final = 512
"""Longer parts of lines are not kept."""
_PARTS: Final = 8192
"""More are not kept: then it begins anew."""


class Meaning(NamedTuple):
    """What a part of a line says."""

    hits: tuple[Hit, ...]
    is_trigger: bool
    """It holds one of the literals that a reader of whole logs stops at."""
    is_place: bool
    """It may tell where its writer runs."""


DULL: Final = Meaning((), is_trigger=False, is_place=False)
"""It holds literals, but says nothing."""


@dataclass(slots=True)
class Memory:
    """Of logs of one kind, read with one catalogue. Several threads may use it."""

    meanings: dict[bytes, Meaning] = field(default_factory=dict)
    """What the very same part meant."""
    fitting: dict[tuple[tuple[int, ...], bytes], tuple[int, ...]] = field(default_factory=dict)
    """By candidates and shape: the signatures that counted."""

    def keep_meaning(self, part: bytes, meaning: Meaning) -> None:
        """Remember it."""
        if len(part) <= _BYTES:
            if len(self.meanings) >= _PARTS:
                self.meanings.clear()
            self.meanings[part] = meaning

    def keep_fitting(self, candidates: tuple[int, ...], shape: bytes, fitting: tuple[int, ...]) -> None:
        """Remember it."""
        if len(shape) <= _BYTES:
            if len(self.fitting) >= _PARTS:
                self.fitting.clear()
            self.fitting[candidates, shape] = fitting
