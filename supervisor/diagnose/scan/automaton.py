"""All literals searched for at once, by two tables that find the same: one small, one fast."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

Found = tuple[int, int, int]
"""Which literal, where it begins, where it ends."""

_WORTH_BYTES: Final = 8 << 20
"""So much of files is read before the fast table is built, which takes 40 ms and 12 MB."""
_BEGINNING: Final = 12
"""The fast table knows literals by so many bytes: by all of them it would be three times as large."""
_PIECE_BYTES: Final = 1 << 14
"""Less than this tells nothing of what comes next."""
_APART_BYTES: Final = 1 << 11
"""With more than one further literal in so many bytes the fast table is the slow one."""


class Automaton:
    """Finds literals in pieces of logs. Several threads may use it.

    A full table of transitions is twice as fast where literals are rare. Where many different ones occur it is read all
    over and no cache holds it: then it is up to five times slower than the compact one.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        self._literals = [one.encode() for one in literals]
        # Any: the library publishes no types
        self._compact: Any = BytesAhoCorasick(self._literals, implementation=Implementation.ContiguousNFA)
        self._fast: _Fast | None = None
        self._is_varied = False
        self._plain_bytes = 0

    def find(self, data: bytes) -> list[Found]:
        """Every place where a literal stands, in the order of their ends."""
        found: list[Found]
        if self._fast is None or self._is_varied:
            found = self._compact.find_matches_as_indexes(data, overlapping=True)
        else:
            found = self._fast.find(data)
        if len(data) >= _PIECE_BYTES:
            most = len(data) // _APART_BYTES
            self._is_varied = len(found) > most and len({literal for literal, _, _ in found}) > most
        return found

    def expect(self, size: int) -> None:
        """So much of a file comes next. Where enough came that needs no other table, the fast one is built.

        Nothing else runs meanwhile: a process that has others to answer does not call this.
        """
        if self._fast is None and not self._is_varied:
            self._plain_bytes += size
            if self._plain_bytes > _WORTH_BYTES:
                self._fast = _Fast(self._literals)


class _Fast:
    """A full table over the beginnings of literals; what follows a beginning is compared."""

    def __init__(self, literals: list[bytes]) -> None:
        begun: dict[bytes, list[tuple[int, bytes]]] = {}
        for index, literal in enumerate(literals):
            begun.setdefault(literal[:_BEGINNING], []).append((index, literal))
        self._table: Any = BytesAhoCorasick(list(begun), implementation=Implementation.DFA)
        self._begun = list(begun.values())

    def find(self, data: bytes) -> list[Found]:
        found = [
            (index, at, at + len(literal))
            for begun, at, _ in self._table.find_matches_as_indexes(data, overlapping=True)
            for index, literal in self._begun[begun]
            if data.startswith(literal, at)
        ]
        found.sort(key=itemgetter(2))
        return found
