"""The signatures ready for use: one automaton over all literals, patterns compiled when a line first needs them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

from supervisor.diagnose.signatures import Kind, Signature, built_in

_WINDOW_BYTES: Final = 2048
"""What is looked at on each side of a literal in a line that is longer."""
_ENDS: Final = (b"\n", b"\r")


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of a line that holds literals: from a line's or a carriage return's end to the next."""

    start: int
    end: int
    candidates: tuple[int, ...]
    """Signatures, and triggers behind them, whose literals it holds."""


@dataclass(slots=True)
class Catalogue:
    """Signatures, and further literals (`triggers`) that only make the reader stop at a line."""

    signatures: tuple[Signature, ...]
    triggers: tuple[str, ...] = ()
    site: frozenset[str] = frozenset()
    """Ids of signatures that a site added: their patterns run in a linear-time engine."""
    _automaton: Any = None  # the library publishes no types
    _owners: list[tuple[int, ...]] = field(default_factory=list)
    _patterns: "list[re.Pattern[str] | None]" = field(default_factory=list)

    def __post_init__(self) -> None:
        owners: dict[str, list[int]] = {}
        for index, signature in enumerate(self.signatures):
            for literal in signature.literals:
                owners.setdefault(literal, []).append(index)
        for index, literal in enumerate(self.triggers, start=len(self.signatures)):
            owners.setdefault(literal, []).append(index)
        self._automaton = BytesAhoCorasick([one.encode() for one in owners], implementation=Implementation.DFA)
        self._owners = [tuple(indices) for indices in owners.values()]
        self._patterns = [None] * len(self.signatures)

    def spots(self, data: bytes, begin: int = 0) -> Iterator[Spot]:
        """The parts of lines from `begin` on that hold a literal, in order."""
        start = end = -1
        found: set[int] = set()
        for literal, at, until in self._automaton.find_matches_as_indexes(data, overlapping=True):
            if at < begin:
                continue
            if until > end:
                if found:
                    yield Spot(start, end, tuple(sorted(found)))
                start, end = _part(data, at, until)
                found = set()
            found.update(self._owners[literal])
        if found:
            yield Spot(start, end, tuple(sorted(found)))

    def search(self, index: int, text: str, kind: Kind) -> "tuple[Signature, re.Match[str]] | None":
        """Where the text shows this signature."""
        signature = self.signatures[index]
        if not signature.fits(kind):
            return None
        pattern = self._patterns[index]
        if pattern is None:
            pattern = self._patterns[index] = self._compiled(signature)
        match = pattern.search(text)
        return (signature, match) if match else None

    def _compiled(self, signature: Signature) -> re.Pattern[str]:
        if signature.id not in self.site:
            return re.compile(signature.pattern)
        from supervisor.diagnose.scan.linear import (
            compile_linear,
        )  # only a site with a pack of its own needs the library

        return compile_linear(signature)


@cache
def catalogue() -> Catalogue:
    """The signatures that come with the product."""
    return Catalogue(built_in())


def with_packs(packs: Iterable[Signature], triggers: tuple[str, ...] = ()) -> Catalogue:
    """The product's signatures and a site's."""
    own = tuple(packs)
    return Catalogue((*built_in(), *own), triggers=triggers, site=frozenset(one.id for one in own))


def _part(data: bytes, at: int, until: int) -> tuple[int, int]:
    """Where the line, or its part between carriage returns, begins and ends; of a very long one what is around."""
    first, last = max(0, at - _WINDOW_BYTES), min(len(data), until + _WINDOW_BYTES)
    start = max(data.rfind(end, first, at) for end in _ENDS) + 1 or first
    stops = [place for end in _ENDS if (place := data.find(end, until, last)) >= 0]
    return start, min(stops) if stops else last
