"""Takes what looks like a secret out of a text that others may read. The one way this is done."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Final

from ahocorasick_rs import AhoCorasick

from supervisor.redact import assignments, blocks
from supervisor.redact.shapes import GONE, SHAPES

_PASSES: Final = 6
"""What is gone may lay bare the next one; ordinary texts need two, the second of which finds nothing."""
_LONGER_IN_LOWER_CASE: Final = "\u0130"

Step = Callable[[str], str]
_STEPS: Final[tuple[Step, ...]] = (*(shape.taken_from for shape in SHAPES), assignments.without_named)


def redacted(text: str) -> str:
    """The text with `***` in place of passwords, tokens and keys. It errs on the side of taking too much.

    Never raises; the time is linear in the text. What is evidence stays: numbers of tokens, commits, UUIDs, paths.
    """
    for _ in range(_PASSES):
        before, text = text, _once(text)
        if text == before:
            break
    return text


def redacted_in(value: Any) -> Any:  # whatever JSON can hold
    """The same over every text in built-in types; a field with a secret's name loses its value whole."""
    match value:
        case str():
            return redacted(value)
        case dict():
            return {key: _field(key, each) for key, each in value.items()}
        case list() | tuple():
            return [_item(before, each) for before, each in pairwise(("", *value))]
        case _:
            return value


def _field(key: Any, value: Any) -> Any:  # keys of JSON are texts, those of YAML need not be
    if isinstance(value, str) and value and isinstance(key, str) and assignments.is_secret_name(key):
        return GONE
    return redacted_in(value)


def _item(before: Any, value: Any) -> Any:  # as `redacted_in`
    """`--password` and its value may be two arguments of a command."""
    is_value = isinstance(before, str) and isinstance(value, str) and before.startswith("-") and "=" not in before
    return _field(before, value) if is_value and not value.startswith("-") else redacted_in(value)


def _once(text: str) -> str:
    lower = _lowered(text)
    if blocks.LITERAL in lower:
        text = blocks.without_blocks(text, lower)
        lower = _lowered(text)
    return assignments.without_assigned("".join(_pieces(text, lower)))


def _lowered(text: str) -> str:
    """As long as the text, in lower case, and without lone surrogates, which the automaton refuses."""
    lower = text.replace(_LONGER_IN_LOWER_CASE, "i").lower()
    return lower if lower.isascii() else lower.encode(errors="replace").decode()


def _pieces(text: str, lower: str) -> Iterator[str]:
    """The text in pieces: lines that hold a literal without their secrets, what lies between as it is."""
    done = 0
    for start, end, steps in _lines(lower):
        yield text[done:start]
        line = text[start:end]
        for step in steps:
            line = step(line)
        yield line
        done = end
    yield text[done:]


def _lines(lower: str) -> Iterator[tuple[int, int, list[Step]]]:
    """Where each line with literals begins and ends, and what is to be done with it."""
    automaton, owners = _prefilter()
    start, end = 0, -1
    found: set[int] = set()
    for literal, at, _ in automaton.find_matches_as_indexes(lower, overlapping=True):
        if at >= end:
            if found:
                yield start, end, [_STEPS[index] for index in sorted(found)]
            found = set()
            start = lower.rfind("\n", 0, at) + 1
            newline = lower.find("\n", at)
            end = newline if newline >= 0 else len(lower)
        found.update(owners[literal])
    if found:
        yield start, end, [_STEPS[index] for index in sorted(found)]


@cache
def _prefilter() -> tuple[AhoCorasick, list[list[int]]]:
    """The automaton, and for each of its literals the steps that it calls for."""
    owners: dict[str, list[int]] = {}
    for index, literals in enumerate([*(shape.literals for shape in SHAPES), assignments.LITERALS]):
        for literal in literals:
            owners.setdefault(literal, []).append(index)
    return AhoCorasick(list(owners)), list(owners.values())
