"""Slurm's short form of node names, `node[001-004,7],gpu[1-2]-ib`, to names and back."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from supervisor.errors import PayloadRefused
from supervisor.model.ids import NodeName

CAP: Final = 100_000
"""More names than this are no list of one job's nodes; the largest machines have a tenth of it."""
_EMPTY: Final = ("", "(null)", "None")
_RANGE: Final = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_LAST_NUMBER: Final = re.compile(r"(.*?)(\d{1,18})(\D*)", re.DOTALL)


def expand(text: str, *, cap: int = CAP) -> tuple[NodeName, ...]:
    """The names in the order of the list, each once. `(null)` and the empty text are no names.

    Raises `PayloadRefused` for a text that is no hostlist, or for more than `cap` names.
    """
    if text.strip() in _EMPTY:
        return ()
    names: dict[NodeName, None] = {}
    for part in _split(text.strip()):
        names.update(dict.fromkeys(_expand_one(part, cap=cap)))
        if len(names) > cap:
            raise PayloadRefused(f"hostlist {text[:80]!r} holds more than {cap} names")
    return tuple(names)


def compress(names: Iterable[str]) -> str:
    """The shortest usual form of the names: sorted, each once, ranges over the last number of a name."""
    groups: dict[tuple[str, str], list[str]] = {}
    plain: list[str] = []
    for name in sorted(set(names)):
        if re.search(r"[\[\],\s]", name) or not name:
            raise PayloadRefused(f"{name!r} is no node name")
        if (match := _LAST_NUMBER.fullmatch(name)) and match[2].isascii():
            groups.setdefault((match[1], match[3]), []).append(match[2])
        else:
            plain.append(name)
    return ",".join([*plain, *(_bracketed(head, numbers, tail) for (head, tail), numbers in groups.items())])


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand outside brackets."""
    depth = start = 0
    for at, char in enumerate(text):
        depth += {"[": 1, "]": -1}.get(char, 0)
        if depth not in (0, 1):
            raise PayloadRefused(f"hostlist {text[:80]!r} has unmatched brackets")
        if char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if depth:
        raise PayloadRefused(f"hostlist {text[:80]!r} has unmatched brackets")
    yield text[start:]


def _expand_one(part: str, *, cap: int) -> Iterator[NodeName]:
    """All names of `rack[1-2]n[01-03]-ib`, the last number running fastest."""
    if not part or re.search(r"\s", part):
        raise PayloadRefused(f"hostlist part {part[:80]!r} is no name")
    pieces = re.split(r"\[([^\[\]]*)\]", part)
    choices = [[piece] if at % 2 == 0 else _numbers(piece, cap=cap) for at, piece in enumerate(pieces)]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > cap:
        raise PayloadRefused(f"hostlist part {part[:80]!r} holds more than {cap} names")
    return (NodeName("".join(parts)) for parts in product(*choices))


def _numbers(text: str, *, cap: int) -> list[str]:
    """`001-003,7` as `001 002 003 7`: leading zeros are part of the name."""
    numbers: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if match is None or not item.isascii():
            raise PayloadRefused(f"{item[:40]!r} is no range of a hostlist")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or len(numbers) + last - first >= cap:
            raise PayloadRefused(f"range {item[:40]!r} of a hostlist is reversed or too long")
        numbers += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return numbers


def _bracketed(head: str, numbers: list[str], tail: str) -> str:
    runs: list[tuple[str, str]] = []
    for text in sorted(numbers, key=lambda number: (int(number), len(number))):
        first, last = runs[-1] if runs else ("", "")
        if last and text == str(int(last) + 1).zfill(len(first)):
            runs[-1] = (first, text)
        else:
            runs.append((text, text))
    shown = ",".join(first if first == last else f"{first}-{last}" for first, last in runs)
    return f"{head}{shown}{tail}" if len(numbers) == 1 else f"{head}[{shown}]{tail}"
