"""No alternative of a pattern is dead: a line that takes it holds a literal, so that the pattern is tried on it."""

from functools import cache

from supervisor.diagnose.signatures import built_in
from tests.diagnose.written import unmet

_MOST_UNWRITTEN = 5


@cache
def _unmet() -> dict[str, list[str] | None]:
    return {one.id: unmet(one.pattern, one.literals) for one in built_in()}


def test_a_branch_without_a_literal_is_found() -> None:
    """The literal lies in one of two branches, or in none."""
    pattern = r"(?:disk \S{1,9} (?:full|is (?i:gone))|no\s+room)[^\n]{0,9}left"
    assert unmet(pattern, ("disk ",)) == ["no room left"]
    assert not unmet(pattern, ("disk ", "left"))
    assert unmet(r"seen in v\d", ("seen at",)) == ["seen in v7"]


def test_every_alternative_can_be_met() -> None:
    """Literals are compared with case: a word that may be written in several ways needs one for each usual way."""
    dead = {name: texts for name, texts in _unmet().items() if texts}
    assert not dead, "\n".join(f"{name}: {texts}" for name, texts in dead.items())


def test_nearly_every_pattern_is_written() -> None:
    """Where no text is found for a pattern nothing is checked."""
    unwritten = [name for name, texts in _unmet().items() if texts is None]
    assert len(unwritten) <= _MOST_UNWRITTEN, unwritten
