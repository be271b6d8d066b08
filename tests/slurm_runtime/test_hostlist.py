"""Hostlists: what Slurm writes is read, what we write is what Slurm reads."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import PayloadRefused
from supervisor.model.ids import NodeName
from supervisor.slurm.hostlist import compress, expand

NAME = st.from_regex(r"[a-z]{1,4}([0-9]{1,4}|-[a-z]{1,2})?([a-z-]{0,3}[0-9]{0,3})?(-ib)?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node001", ["node001"]),
        ("node[001-003,7],gpu[1-2]-ib", ["node001", "node002", "node003", "node7", "gpu1-ib", "gpu2-ib"]),
        ("r[1-2]n[09-10]", ["r1n09", "r1n10", "r2n09", "r2n10"]),
        ("n[98-101]", ["n98", "n99", "n100", "n101"]),
        ("a,a,b[1,1]", ["a", "b1"]),
        ("(null)", []),
        ("", []),
        (" n1 ", ["n1"]),
    ],
)
def test_expand(text: str, names: list[str]) -> None:
    """Ranges, leading zeros, suffixes and several brackets; each name once, in the order of the list."""
    assert list(expand(text)) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["node003", "node001", "node002", "node007"], "node[001-003,007]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n09", "n10"], "n[09-10]"),
        (["n1", "n01"], "n[1,01]"),
        (["gpu1-ib", "gpu2-ib", "login"], "login,gpu[1-2]-ib"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        ([], ""),
    ],
)
def test_compress(names: list[str], text: str) -> None:
    """Sorted, each once, ranges over the last number."""
    assert compress(names) == text


@given(st.lists(NAME, max_size=40))
def test_round_trip(names: list[str]) -> None:
    """Whatever is compressed expands to the same names."""
    assert set(expand(compress(names))) == set(names)


@given(st.lists(st.integers(0, 3000), min_size=1), st.integers(1, 5))
def test_round_trip_of_padded_numbers(numbers: list[int], width: int) -> None:
    """Leading zeros survive, also where the numbers outgrow them."""
    names = {f"node{number:0{width}d}" for number in numbers}
    assert set(expand(compress(names))) == names


@given(st.text(alphabet="ab01[]-, \u0663", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    """A text that is no hostlist is refused with our own error, never with another."""
    with suppress(PayloadRefused):
        assert all(name and "[" not in name for name in expand(text))


@pytest.mark.parametrize("text", ["n[1-", "n]1[", "n[2-1]", "n[a-b]", "n[1-3", "a,,b", "a b", "n[]", "n[[1]]"])
def test_garbled_lists_are_refused(text: str) -> None:
    """A list with unmatched brackets, reversed ranges or holes is refused, not half read."""
    with pytest.raises(PayloadRefused):
        expand(text)


@pytest.mark.parametrize("text", ["n[0-999999999]", "n[0-999][0-999]", "n[1-9],m[1-9]"])
def test_size_is_capped(text: str) -> None:
    """A list that would fill the memory is refused before it is expanded."""
    with pytest.raises(PayloadRefused):
        expand(text, cap=10 if "m" in text else 100_000)


@pytest.mark.parametrize("name", ["", "a,b", "a[1]", "a b"])
def test_no_name_is_not_compressed(name: str) -> None:
    """What is no node name never gets into a list that Slurm is given."""
    with pytest.raises(PayloadRefused):
        compress([NodeName(name)])
