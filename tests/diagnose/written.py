"""Texts that a pattern matches, made from Python's own parse of it: at least one for each branch."""

import re
from dataclasses import dataclass
from itertools import product
from re import _constants as op  # type: ignore[attr-defined]  # the parser's own types are not published
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

_MOST: Final = 40
"""Texts of one sequence: with more combinations than this its parts vary alone, and all together a few times."""
_ROUNDS: Final = 2
_SMALL_SET: Final = 4
"""The members of a set of so few characters are spellings: each is tried."""
_CHARS: Final = "q7 -=:/._\t" + "".join(map(chr, range(33, 127)))
_DEVICE: Final = "0000:3b:00.0"
"""For what takes digits, letters and colons."""
_AROUND: Final = (("", ""), (" ", " "), ("Error: ", ""), ("q", "q"), ("", " 7 error"), ("Error: failed q ", " q "))
_ONE_CHAR: Final = frozenset({op.LITERAL, op.IN, op.NOT_LITERAL, op.ANY, op.CATEGORY})
_CATEGORIES: Final = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


Branch = tuple[int, int]
_WHOLE: Final = frozenset({(0, 0)})


class _Fill(NamedTuple):
    """What a pattern leaves open."""

    gap: str
    """Stands where anything may stand, or nothing."""
    chars: str
    """The first of these that fits stands where one character must."""


_FILLS: Final = (_Fill(" ", _CHARS), _Fill("", "=" + _CHARS), _Fill(" is ", _CHARS), _Fill("q", _CHARS))


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and which branches it goes through."""

    text: str
    branches: frozenset[Branch] = frozenset()

    def __add__(self, other: "Written") -> "Written":
        return Written(self.text + other.text, self.branches | other.branches)


def unmet(pattern: str, literals: tuple[str, ...]) -> list[str] | None:
    """For each branch, and the whole pattern, of which no text holds a literal: a text that the pattern matches.

    `None`: no text was found that the pattern matches.
    """
    search = re.compile(pattern).search
    tree = list(parser.parse(pattern))
    met: set[Branch] = set()
    told: dict[Branch, str] = {}
    for fill in _FILLS:
        drafts = [Written("", _WHOLE) + one for one in _sequence(tree, fill)]
        for draft in drafts:
            if draft.branches <= met:
                continue
            texts = (f"{before}{draft.text}{after}" for before, after in _AROUND)
            text = next((text for text in texts if search(text)), None)
            if text is not None:
                told |= dict.fromkeys(draft.branches - told.keys(), text)
                met |= draft.branches if any(literal in text for literal in literals) else set()
        if all(draft.branches <= met for draft in drafts):
            break
    return sorted({text for branch, text in told.items() if branch not in met}) if told else None


def _sequence(tree: Any, fill: _Fill) -> list[Written]:
    parts = [_part(code, value, fill) for code, value in tree]
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
    return texts + [
        _joined(part[(turn + step * at) % len(part)] for at, part in enumerate(parts)) for step, turn in mixed
    ]


def _joined(parts: Any) -> Written:
    text = Written("")
    for part in parts:
        text += part
    return text


def _part(code: Any, value: Any, fill: _Fill) -> list[Written]:
    if code is op.BRANCH:
        return [
            Written("", frozenset({(id(value), index)})) + one
            for index, branch in enumerate(value[1])
            for one in _sequence(branch, fill)
        ]
    if code is op.SUBPATTERN:
        return _sequence(value[3], fill)
    if code in {op.MAX_REPEAT, op.MIN_REPEAT}:
        least, most, inner = value
        return _repeated(least, most, inner, fill)
    if code in _ONE_CHAR:
        return [Written(char) for char in _chars(code, value, fill.chars)]
    # What asserts something adds nothing; what was captured before is not known, so any letter stands for it.
    return [Written("q" if code is op.GROUPREF else "")]


def _repeated(least: int, most: int, inner: Any, fill: _Fill) -> list[Written]:
    code, value = inner[0]
    if len(inner) == 1 and code in _ONE_CHAR and most > 1:
        wanted = (_DEVICE[:least] if least else fill.gap) if least <= len(_DEVICE) else ""
        is_fit = all(_fits(code, value, char) for char in wanted)
        return [Written(wanted if wanted and is_fit else _chars(code, value, fill.chars)[0] * least)]
    texts = _sequence(inner, fill)
    return [_joined([one] * least) for one in texts] if least else [Written(""), *texts]


def _chars(code: Any, value: Any, known: str) -> list[str]:
    if code is op.LITERAL:
        return [chr(value)]
    if code is op.IN and all(kind is op.LITERAL for kind, _ in value) and len(value) <= _SMALL_SET:
        return [chr(one) for _, one in value]
    return [next(char for char in known if _fits(code, value, char))]


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
