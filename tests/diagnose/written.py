"""Texts that a pattern matches, made from Python's own parse of it: at least one for each branch of its alternatives."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from re import _constants as op  # type: ignore[attr-defined]  # the parser's own types are not published
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

_MOST: Final = 96
"""Texts of one sequence: with more combinations than this its parts vary alone, and all together a few times."""
_ROUNDS: Final = 3
_SMALL_SET: Final = 4
"""The members of a set of so few characters are spellings: each is tried."""
_CHARS: Final = ("q7-=: /._\t'\"([<", *map(chr, range(33, 127)))
_DEVICE: Final = "0000:3b:00.0"
"""For what takes digits, letters and colons."""
_GAPS: Final = (" ", "", " q ", "q")
"""What may stand where a pattern lets anything stand."""
_AROUND: Final = (("", ""), (" ", " "), ("Error: ", ""), ("q", "q"), ("", " 7 error"), ("Error: failed q ", " q "))
_ONE_CHAR: Final = frozenset({op.IN, op.NOT_LITERAL, op.ANY, op.CATEGORY})
_CATEGORIES: Final = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and which branches it goes through."""

    text: str
    branches: frozenset[tuple[int, int]] = frozenset()

    def __add__(self, other: "Written") -> "Written":
        return Written(self.text + other.text, self.branches | other.branches)


def written(pattern: str) -> Iterator[Written]:
    """Texts that match the pattern; what no text was found for is left out."""
    compiled = re.compile(pattern)
    tree = list(parser.parse(pattern))
    for same in zip(*(_sequence(tree, gap) for gap in _GAPS), strict=True):
        for before, after in _AROUND:
            found = {text for one in same if compiled.search(text := f"{before}{one.text}{after}")}
            if found:
                yield from (Written(text, same[0].branches) for text in found)
                break


def _sequence(tree: Any, gap: str) -> list[Written]:
    parts = [_part(code, value, gap) for code, value in tree]
    count = 1
    for part in parts:
        count *= len(part)
    if count <= _MOST:
        return [_joined(one) for one in product(*parts)]
    first = [part[0] for part in parts]
    texts = [_joined(first)]
    for index, part in enumerate(parts):
        texts += [_joined((*first[:index], other, *first[index + 1 :])) for other in part[1:]]
    longest = max(len(part) for part in parts)
    mixed = product(range(_ROUNDS), range(longest))
    return texts + [_joined(part[(turn + step * at) % len(part)] for at, part in enumerate(parts)) for step, turn in mixed]


def _joined(parts: Any) -> Written:
    text = Written("")
    for part in parts:
        text += part
    return text


def _part(code: Any, value: Any, gap: str) -> list[Written]:
    if code is op.LITERAL:
        return [Written(chr(value))]
    if code in _ONE_CHAR:
        return [Written(char) for char in _chars(code, value)]
    if code is op.BRANCH:
        return [
            Written("", frozenset({(id(value), index)})) + one
            for index, branch in enumerate(value[1])
            for one in _sequence(branch, gap)
        ]
    if code is op.SUBPATTERN:
        return _sequence(value[3], gap)
    if code in {op.MAX_REPEAT, op.MIN_REPEAT}:
        return _repeated(*value, gap)
    if code in {op.AT, op.ASSERT, op.ASSERT_NOT}:
        return [Written("")]
    if code is op.GROUPREF:
        return [Written("q")]
    raise ValueError(f"a pattern with {code}")


def _repeated(least: int, most: int, inner: Any, gap: str) -> list[Written]:
    code, value = inner[0]
    if len(inner) == 1 and code in _ONE_CHAR and most > 1:
        wanted = (_DEVICE[:least] if least else gap) if least <= len(_DEVICE) else ""
        is_fit = all(_fits(code, value, char) for char in wanted)
        return [Written(wanted if wanted and is_fit else _chars(code, value)[0] * least)]
    texts = _sequence(inner, gap)
    return [_joined([one] * least) for one in texts] if least else [Written(""), *texts]


def _chars(code: Any, value: Any) -> list[str]:
    if code is op.IN and all(kind is op.LITERAL for kind, _ in value) and len(value) <= _SMALL_SET:
        return [chr(one) for _, one in value]
    return [next(char for char in "".join(_CHARS) if _fits(code, value, char))]


def _fits(code: Any, value: Any, char: str) -> bool:
    if code is op.IN:
        is_in = any(_fits(kind, one, char) for kind, one in value if kind is not op.NEGATE)
        return is_in != (value[0][0] is op.NEGATE)
    if code is op.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    if code is op.CATEGORY:
        return bool(re.match(_CATEGORIES[value], char))
    if code is op.ANY:
        return char != "\n"
    return bool(ord(char) == value) == (code is op.LITERAL)
