"""Who wrote a line: rank labels of srun, torch, Ray and others in front of it, and times."""

import re
from typing import Final

from supervisor.model.ids import NodeName, Rank

_ANSI: Final = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_SRUN: Final = re.compile(r" {0,7}(\d{1,7}): ")
_TORCH: Final = re.compile(r"\[rank(\d{1,7})\]: ?")
_RAY: Final = re.compile(r"\(\w+, rank=(\d{1,7}), pid=\d+\) ?")
_TIME: Final = re.compile(r"\[?\d{4}-\d\d-\d\d[T ,]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?\]?[ ,]{0,2}")
_INLINE: Final = re.compile(r"\b[Rr]ank[ =:]{0,3}(\d{1,7})\b")
_NCCL: Final = re.compile(r"^([A-Za-z][\w.-]{0,63}):\d+:\d+ \[(\d+)\]")


def split_label(line: str) -> tuple[Rank | None, str]:
    """The rank by the line's label, and the line without label, time and colour. Frames keep their indentation."""
    rank: Rank | None = None
    rest = _ANSI.sub("", line)
    for label in (_SRUN, _TORCH, _RAY):
        if match := label.match(rest):
            rank, rest = Rank(int(match[1])), rest[match.end() :]
    if match := _TIME.match(rest):
        rest = rest[match.end() :] if not rest[match.end() :].startswith("  ") else rest[match.end() - 1 :].lstrip("\t")
    return rank, rest


def rank_inside(text: str) -> Rank | None:
    """A rank that the text itself names."""
    match = _INLINE.search(text)
    return Rank(int(match[1])) if match else None


def nccl_place(text: str) -> tuple[NodeName, int] | None:
    """Node and GPU of a line of NCCL's own log, `node014:21840:22711 [2] NCCL …`."""
    match = _NCCL.match(text)
    return (NodeName(match[1]), int(match[2])) if match else None


def expand_tasks(text: str, *, most: int) -> tuple[Rank, ...]:
    """`0-2,5` as ranks, at most so many."""
    found: list[Rank] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or len(first) > 7 or (last and (not last.isdigit() or len(last) > 7)):  # noqa: PLR2004 - ranks
            continue
        for number in range(int(first), int(last or first) + 1):
            if len(found) >= most:
                return tuple(found)
            found.append(Rank(number))
    return tuple(found)
