"""Differences between two texts as hunks: read from `git diff -U0`, or made from two versions of a script. Pure."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from supervisor.model.software import Hunk

_HEADER: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LONGEST: Final = 1500
"""Lines of a script; beyond that the comparison takes too long."""


def parse_diff(text: str) -> tuple[Hunk, ...]:
    """The hunks of what `git diff -U0 --no-renames` printed; what is no such text has none."""
    return tuple(_hunks(text.split("\n")))


def hunks_between(path: str, old: str, new: str) -> tuple[Hunk, ...] | None:
    """How two versions of a text differ, line by line; None where one is too long to be compared."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > _LONGEST:
        return None
    return tuple(
        Hunk(path=path, line=at + 1, old=tuple(before[first:last]), new=tuple(after[at:until]))
        for tag, first, last, at, until in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if tag != "equal"
    )


def _hunks(lines: list[str]) -> Iterator[Hunk]:
    path, at = "", 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if line.startswith(("--- ", "+++ ")):
            path = _path(line[4:]) or path
        elif match := _HEADER.match(line):
            gone, come = (int(match[group]) if match[group] else 1 for group in (2, 4))
            body, at = _body(lines, at, gone + come)
            old, new = ([text[1:] for text in body if text.startswith(sign)] for sign in "-+")
            yield Hunk(path=path, line=int(match[3]), old=tuple(old), new=tuple(new))


def _body(lines: list[str], at: int, count: int) -> tuple[list[str], int]:
    """So many lines of the hunk, by its header's count: a removed line may itself begin with `-- `."""
    body: list[str] = []
    while len(body) < count and at < len(lines) and lines[at][:1] in {"-", "+", "\\"}:
        if not lines[at].startswith("\\"):  # "\ No newline at end of file"
            body.append(lines[at])
        at += 1
    return body, at


def _path(name: str) -> str:
    """`b/src/train.py`; empty for /dev/null, the other side of a new or deleted file."""
    name = name.split("\t", maxsplit=1)[0].strip('"')
    return "" if name == "/dev/null" else name[2:]
