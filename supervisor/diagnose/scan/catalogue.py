"""The signatures ready for use: one automaton over all literals, patterns compiled when a line first needs them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from supervisor.diagnose.scan.automaton import Automaton
from supervisor.diagnose.scan.memory import Memory
from supervisor.diagnose.scan.shapes import mask
from supervisor.diagnose.signatures import Kind, Signature, built_in

_WINDOW_BYTES: Final = 2048
"""What is looked at on each side of a literal in a line that is longer."""
_MASKS: Final = 4096


Spot = tuple[int, int, list[int]]
"""A part of a line that holds literals, from a line's or a carriage return's end to the next: where it begins and ends,
and which literals; `Catalogue.candidates` knows whose."""


@dataclass(slots=True)
class Catalogue:
    """Signatures, and further literals (`triggers`) that only make the reader stop at a line."""

    signatures: tuple[Signature, ...]
    triggers: tuple[str, ...] = ()
    site: frozenset[str] = frozenset()
    """Ids of signatures that a site added: their patterns run in a linear-time engine."""
    place: bytes = b"\n"
    """What is in lines that tell where their writer runs; no line holds an end of line."""
    _automaton: Automaton = field(init=False)
    _owners: list[tuple[int, ...]] = field(default_factory=list)
    _patterns: "list[re.Pattern[str] | None]" = field(default_factory=list)
    _masks: dict[tuple[int, ...], bytes] = field(default_factory=dict)
    _memories: dict[Kind, Memory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        owners: dict[str, list[int]] = {}
        for index, signature in enumerate(self.signatures):
            for literal in signature.literals:
                owners.setdefault(literal, []).append(index)
        for index, literal in enumerate(self.triggers, start=len(self.signatures)):
            owners.setdefault(literal, []).append(index)
        self._automaton = Automaton(owners)
        self._owners = [tuple(indices) for indices in owners.values()]
        self._patterns = [None] * len(self.signatures)

    def expect(self, size: int) -> None:
        """So many bytes of a file come next: where much has come, what makes reading faster is built meanwhile."""
        self._automaton.expect(size)

    def spots(self, data: bytes, begin: int = 0) -> Iterator[Spot]:
        """The parts of lines from `begin` on that hold a literal, in order."""
        start = end = -1
        literals: list[int] = []
        part = _part if b"\r" in data else _line
        for literal, at, until in self._automaton.find(data):
            if until <= end:
                literals.append(literal)
            elif at >= begin:
                if literals:
                    yield start, end, literals
                start, end = part(data, at, until)
                literals = [literal]
        if literals:
            yield start, end, literals

    def candidates(self, literals: list[int]) -> tuple[int, ...]:
        """Signatures, and triggers behind them, to which these literals belong, in order."""
        if len(literals) == 1:
            return self._owners[literals[0]]
        return tuple(sorted({owner for one in literals for owner in self._owners[one]}))

    def is_trigger(self, candidates: tuple[int, ...]) -> bool:
        """A reader of whole logs stops at a line with these literals."""
        return candidates[-1] >= len(self.signatures)

    def memory(self, kind: Kind) -> Memory:
        """What lines meant in logs of this kind."""
        return self._memories.setdefault(kind, Memory())

    def shape(self, part: bytes, candidates: tuple[int, ...]) -> bytes:
        """The part with one digit for all those that the patterns of its candidates do not tell apart."""
        table = self._masks.get(candidates)
        if table is None:
            if len(self._masks) >= _MASKS:
                self._masks.clear()
            known = (self.signatures[one].pattern for one in candidates if one < len(self.signatures))
            table = self._masks[candidates] = mask(known)
        return part.translate(table)

    def search(self, index: int, text: str, kind: Kind) -> "re.Match[str] | None":
        """Where the text shows this signature; a trigger has none."""
        if index >= len(self.signatures):
            return None
        signature = self.signatures[index]
        if not signature.fits(kind):
            return None
        pattern = self._patterns[index]
        if pattern is None:
            pattern = self._patterns[index] = self._compiled(signature)
        return pattern.search(text)

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


def with_packs(packs: Iterable[Signature], triggers: tuple[str, ...] = (), place: bytes = b"\n") -> Catalogue:
    """The product's signatures and a site's."""
    own = tuple(packs)
    return Catalogue((*built_in(), *own), triggers=triggers, site=frozenset(one.id for one in own), place=place)


def _line(data: bytes, at: int, until: int) -> tuple[int, int]:
    """Where the line begins and ends; of a very long one what is around."""
    first = at - _WINDOW_BYTES if at > _WINDOW_BYTES else 0
    start = data.rfind(b"\n", first, at) + 1 or first
    stop = data.find(b"\n", until, until + _WINDOW_BYTES)
    return start, stop if stop >= 0 else min(len(data), until + _WINDOW_BYTES)


def _part(data: bytes, at: int, until: int) -> tuple[int, int]:
    """The same of its part between carriage returns."""
    start, stop = _line(data, at, until)
    begin, end = data.rfind(b"\r", start, at), data.find(b"\r", until, stop)
    return begin + 1 or start, end if end >= 0 else stop
