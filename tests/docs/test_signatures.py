"""docs/signatures.md describes signatures as the code reads them."""

import re
from typing import get_args

import msgspec

from supervisor.diagnose.reading.packs import SITE_FOLDER
from supervisor.diagnose.scan.catalogue import catalogue
from supervisor.diagnose.scan.lines import LINE_CHARS, shortened
from supervisor.diagnose.signatures import GROUPS, Kind, Mark, Role, Scope, Signature, built_in, checked, parse
from tests.docs.pages import code, rows, text_of

_TEXT = text_of("docs/signatures.md")
(_EXAMPLE,) = re.findall(r"```toml\n(.*?)```", _TEXT, re.DOTALL)
_LIKE_IT = "NVRM: Xid (PCI:0000:2a:00): 79, pid=1234, GPU has fallen off the bus."
_LITERAL = "Xid (PCI:"


def test_the_example_is_a_signature() -> None:
    """It is taken as it stands, names each field once, and knows the line that it is about."""
    (signature,) = checked(parse(_EXAMPLE))
    fields = re.findall(r"^(\w+) = ", _EXAMPLE, re.MULTILINE)
    assert sorted(fields) == sorted(field.name for field in msgspec.structs.fields(Signature))
    assert re.search(signature.pattern, _LIKE_IT)


def test_the_example_is_one_of_the_product() -> None:
    """Its name and its cause are real; the product's own pattern takes more forms of the line."""
    (shown,) = parse(_EXAMPLE)
    (real,) = (one for one in built_in() if one.id == shown.id)
    assert (real.cause, real.role, real.scope) == (shown.cause, shown.role, shown.scope)


def test_the_words_of_a_field_are_told() -> None:
    """Roles, scopes and kinds of logs stand beside their fields."""
    lines = {line.split()[0]: line for line in _EXAMPLE.splitlines() if " = " in line}
    for field, words in (("role", get_args(Role)), ("scope", get_args(Scope)), ("sources", get_args(Kind))):
        assert [word for word in words if word != "any" and word not in lines[field].partition("#")[2]] == []


def test_the_groups_are_those_that_are_read() -> None:
    """A pattern may capture these and no others."""
    said = _TEXT.partition("**Named groups**")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z]+)`", said)) == GROUPS


def test_the_marks_are_those_of_the_code() -> None:
    """Each has its row."""
    told = [mark for words, *_ in rows(_TEXT) for mark in re.findall(r"`(\w+)`", words)]
    assert sorted(told) == sorted(get_args(Mark))


def test_the_weights_are_within_the_table() -> None:
    """The surest root and the least sure echo of the product lie in its ranges."""
    ranges = [tuple(map(float, words.split(" to "))) for words, *_ in rows(_TEXT) if " to " in words]
    weights = [one.weight for one in built_in() if one.cause and one.role != "context"]
    assert max(weights) <= ranges[0][1]
    assert min(weights) >= ranges[-1][0]


def test_places_of_a_sites_packs_are_told() -> None:
    """The folder that is looked at, and the extra that its patterns need."""
    assert str(SITE_FOLDER) in code(_TEXT)
    assert "pip install 'slurm-supervise[packs]'" in _TEXT


def test_a_pattern_sees_the_line_as_it_was_written() -> None:
    """Labels, time and colour are there; of a long line as much as the page says, of an overwritten one the end."""
    line = f"\x1b[31m[rank3]: 2026-01-02 {_LIKE_IT}"
    assert shortened(line) == line
    assert shortened(f"10%\r{line}") == line
    before, after = "x" * LINE_CHARS, "y" * LINE_CHARS
    ((start, end, _),) = catalogue().spots(f"{before}{_LITERAL}{after}".encode())
    assert f"at most {len(before) - start} bytes" in _TEXT
    assert len(before) - len(_LITERAL) <= end - start <= len(before) + len(_LITERAL)
