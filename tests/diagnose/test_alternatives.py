"""No alternative of a pattern is dead: a line that takes it holds a literal, so that the pattern is tried on it."""

from supervisor.diagnose.signatures import Signature, built_in
from tests.diagnose.written import written

_LEAST_WRITTEN = 0.97


def _dead(signature: Signature) -> list[str]:
    """For each branch that no literal leads to, a text that the pattern matches by it."""
    alive: set[tuple[int, int]] = set()
    told: dict[tuple[int, int], str] = {}
    for one in written(signature.pattern):
        told.update(dict.fromkeys(one.branches, one.text))
        if any(literal in one.text for literal in signature.literals):
            alive |= one.branches
    return sorted({text for branch, text in told.items() if branch not in alive})


def test_a_branch_without_a_literal_is_found() -> None:
    """The literal lies in one of the two."""
    pattern = r"(?:disk \S{1,9} (?:full|is (?i:gone))|no\s+room)[^\n]{0,9}left"
    half = Signature(id="a", role="context", literals=("disk ",), pattern=pattern)
    assert _dead(half) == ["no room left"]
    assert not _dead(Signature(id="a", role="context", literals=("disk ", "left"), pattern=pattern))


def test_nearly_every_pattern_is_written() -> None:
    """Where no text is found for a pattern nothing is checked."""
    texts = [any(written(one.pattern)) for one in built_in()]
    assert sum(texts) >= _LEAST_WRITTEN * len(texts)


def test_every_alternative_can_be_met() -> None:
    """Literals are compared with case: a word that may be written in several ways needs one for each usual way."""
    dead = {one.id: texts for one in built_in() if (texts := _dead(one))}
    assert not dead, "\n".join(f"{name}: {texts}" for name, texts in dead.items())
