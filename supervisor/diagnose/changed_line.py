"""One changed place in a file, in few words: `train.py:212 eval_batch 4 -> 8`. Pure."""

import re
from itertools import takewhile
from typing import Final

from supervisor.model.software import Hunk

_TOKEN: Final = re.compile(r"\w[\w.]*(?:(?<=\de)[+-]\d+)?|\S")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_TEXT: Final = 48
_FEW: Final = 3
_JUDGED: Final = 400
"""So much of a line is compared."""


def in_words(hunk: Hunk, *, where: str = "") -> str:
    """The change; of one in many lines only how many."""
    where = where or f"{hunk.path}:{hunk.line}"
    old, new = hunk.old, hunk.new
    if len(old) == len(new) == 1:
        return f"{where} {_pair(old[0], new[0])}"
    if len(old) + len(new) == 1:
        return f"{where} {'added' if new else 'removed'}: {_cut((*old, *new)[0])}"
    return f"{where} {max(len(old), len(new))} lines {'changed' if old and new else 'added' if new else 'removed'}"


def apart(hunk: Hunk) -> tuple[Hunk, ...]:
    """A few lines that were each rewritten, one by one; anything else as it is."""
    if len(hunk.old) != len(hunk.new) or len(hunk.old) > _FEW:
        return (hunk,)
    pairs = enumerate(zip(hunk.old, hunk.new, strict=True))
    return tuple(Hunk(path=hunk.path, line=hunk.line + at, old=(old,), new=(new,)) for at, (old, new) in pairs)


def _pair(old: str, new: str) -> str:
    """The part that differs, behind the name before it."""
    old, new = old.strip()[:_JUDGED], new.strip()[:_JUDGED]
    if old == new:  # blanks, or what was a secret
        return "changed, not in what is shown"
    before, after = (list(_TOKEN.finditer(text)) for text in (old, new))
    same = _same([one[0] for one in before], [one[0] for one in after])
    rest = min(len(before), len(after)) - same
    tail = min(rest, _same([one[0] for one in reversed(before)], [one[0] for one in reversed(after)]))
    first, last = (_part(text, ones, same, tail) for text, ones in ((old, before), (new, after)))
    name = next((one[0] for one in reversed(before[:same]) if _NAME.fullmatch(one[0])), "")
    if name and first and last and max(len(first), len(last)) <= _TEXT:
        return f"{name} {first} -> {last}"
    return f"{_cut(old)} -> {_cut(new)}"


def _same(one: list[str], other: list[str]) -> int:
    """How many of them are alike from the start on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _part(text: str, tokens: "list[re.Match[str]]", same: int, tail: int) -> str:
    inner = tokens[same : len(tokens) - tail]
    return text[inner[0].start() : inner[-1].end()] if inner else ""


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return f'"{text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"}"'
