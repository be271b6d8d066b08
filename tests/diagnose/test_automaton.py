"""Two tables of all literals: which is asked changes no answer, and the fast one is built where it is worth it."""

from collections.abc import Iterator
from typing import Any

import pytest
from ahocorasick_rs import BytesAhoCorasick
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.bundle import Log
from supervisor.diagnose.scan import automaton
from supervisor.diagnose.scan.automaton import Automaton
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.diagnose.scan.one_log import scan_log
from supervisor.diagnose.signatures import built_in

_WORDS = ("ab", "aba", "b a", "aaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaba", "aaaaaaaaaaaa")
"""Some begin, some end with another; some differ only behind what the fast table knows."""
_MB = 1 << 20


def _fast(words: tuple[str, ...]) -> Automaton:
    made = Automaton(words)
    made.expect(1 << 30)
    return made


@given(st.lists(st.sampled_from(["a", "ab", "a" * 14, "b", " ", "\n", "c"]), max_size=40))
def test_both_tables_find_the_same(parts: list[str]) -> None:
    """Wherever literals overlap or are cut by the end."""
    data = "".join(parts).encode()
    found = _fast(_WORDS).find(data)
    assert sorted(found) == sorted(Automaton(_WORDS).find(data))
    assert [until for _, _, until in found] == sorted(until for _, _, until in found)
    assert all(data[at:until] == _WORDS[index].encode() for index, at, until in found)


class _Tables:
    """Stands for the library: which tables were built, and which was asked last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.built: list[str] = []
        self.asked = ""
        real: Any = BytesAhoCorasick

        class Table:
            def __init__(table, literals: list[bytes], implementation: Any) -> None:  # noqa: N805 - within another
                table.name = repr(implementation).rpartition(".")[2]
                table.inside = real(literals, implementation=implementation)
                self.built.append(table.name)

            def find_matches_as_indexes(table, data: bytes, *, overlapping: bool) -> Any:  # noqa: N805
                self.asked = table.name
                return table.inside.find_matches_as_indexes(data, overlapping=overlapping)

        monkeypatch.setattr(automaton, "BytesAhoCorasick", Table)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> _Tables:
    """Those of the automata made from now on."""
    return _Tables(monkeypatch)


def test_varied_text_goes_to_the_compact_table(tables: _Tables) -> None:
    """Many literals, all different, make the fast table the slow one; one literal that is everywhere does not."""
    words = tuple(f"word{number:05}" for number in range(2000))
    made = _fast(words)
    made.find(b"word00001 " * 10_000)
    assert (made.find(b""), tables.asked) == ([], "DFA")
    made.find(" ".join(words).encode() * 5)
    assert (made.find(b""), tables.asked) == ([], "ContiguousNFA")
    made.find(b"nothing " * 10_000)
    assert (made.find(b""), tables.asked) == ([], "DFA")


def _read(catalogue: Catalogue, size: int) -> None:
    def pieces() -> Iterator[bytes]:
        return iter([b"step 1 loss 2\n" * (_MB // 14)] * (size // _MB))

    scan_log(Log(name="a.log", pieces=pieces), 0, catalogue)


def test_the_fast_table_is_built_for_long_files_alone(tables: _Tables) -> None:
    """Once; a short file does not wait for it, nor does what is at hand already: a supervisor has others to answer."""
    catalogue = Catalogue(built_in())
    line = "step 1 loss 2 " * 100
    scan_log(Log(name="a.log", lines=(line,) * 20_000), 0, catalogue)
    _read(catalogue, 4 * _MB)
    assert tables.built == ["ContiguousNFA"]
    _read(catalogue, 20 * _MB)
    assert tables.built == ["ContiguousNFA", "DFA"]
