"""Who wrote a line: rank labels of srun, torch, mpirun, Ray and others in front of it or inside it."""

import re
from dataclasses import dataclass
from string import ascii_letters
from typing import Final

from supervisor.model.ids import NodeName, Rank

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x00")
_LABELS: Final = tuple(
    (begins, re.compile(one))
    for begins, one in (
        (" 0123456789", r" {0,7}(?P<rank>\d{1,7}): "),  # srun --label, flux run --label-io
        ("[", r"\[rank ?:? ?(?P<rank>\d{1,7})\]:? ?"),  # torch, Lightning
        ("[", r"\[default(?P<local>\d{1,3})\]:? ?"),  # torchrun --tee, per node
        ("[", r"\[\d{1,4},(?P<rank>\d{1,7})\]<(?:stdout|stderr|stddiag)>: ?"),  # mpirun --tag-output
        ("[", r"\[(?P<rank>\d{1,7})\] (?=\S)"),  # mpiexec -prepend-rank
        ("(", r"\((?:\w+, )?rank=(?P<rank>\d{1,7}), pid=(?P<pid>\d{1,9})\) ?"),  # Ray
        ("[", r"\[(?P<node>[A-Za-z][\w.-]{0,63}):(?P<pid>\d{1,9})\] ?"),  # Open MPI
        (
            ascii_letters,
            r"(?P<node>[A-Za-z][\w.-]{0,63}):(?P<pid>\d{1,9}):\d{1,9} \[(?P<gpu>\d{1,3})\] (?=NCCL|[\w./-]+:\d)",
        ),
        (ascii_letters, r"slurmstepd-(?P<node>[A-Za-z][\w-]{0,62}\d): (?=\S)"),  # several slurmd on one host
        (ascii_letters, r"(?P<node>[A-Za-z][\w-]{0,62}\d): (?=\S)"),  # pdsh, clush
    )
)
"""What each label begins with, and its form; the longest one is NCCL's."""
_ANY: Final = re.compile(r" {0,7}\d{1,7}: |[\[(]|[A-Za-z][\w.-]{0,63}:(?:\d| \S)")
"""What every label begins with: most lines have none, and that is told at once."""
_NO_HOSTS: Final = frozenset({"md5", "sha1", "sha256", "utf8", "utf16", "py3", "python3", "conda3", "rank0", "int8"})
_TIME: Final = re.compile(r"\[?\d{4}-\d\d-\d\d[T ,]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?\]?[ ,]{0,2}")
_MARKER: Final = re.compile(r"\[rank(\d{1,7})\]:|\[default(\d{1,3})\]:")
_INLINE: Final = re.compile(
    r"\b(?:[Gg]lobal[ _])?[Rr]ank[ =:]{0,3}(\d{1,7})\b|\brank=(\d{1,7})\b|\bPE[ =](\d{1,7})\b(?!/)|MPI rank (\d{1,7})\b"
)
_NCCL: Final = re.compile(r"\b([A-Za-z][\w.-]{0,63}):(\d{1,9}):\d{1,9} \[(\d{1,3})\]")
_SYSLOG: Final = re.compile(
    r"(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+Z-]{8,32}) "
    r"([A-Za-z][\w.-]{0,63}) (?:kernel|[\w./-]{1,32}\[\d{1,9}\]): "
)
"""A line of a system's log begins with time, host and who of it wrote."""
_NODE: Final = re.compile(
    r"\b[Nn]ode(?:name)?[ =:]{1,3}([A-Za-z][\w.-]{0,62}\d)\b|\bhost(?:name)?[ =:]{1,3}([A-Za-z][\w.-]{0,62}\d)\b"
)


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote a line, as far as it tells."""

    rank: Rank | None = None
    local_rank: int | None = None
    node: NodeName | None = None
    gpu: int | None = None
    pid: int | None = None


_NOBODY: Final = Writer()


def split_label(line: str) -> tuple[Rank | None, str]:
    """The rank by the line's label, and the line without labels, time and colour. Frames keep their indentation."""
    writer, rest = read_labels(line)
    if match := _TIME.match(rest):
        rest = rest[match.end() :] if not rest[match.end() :].startswith("  ") else rest[match.end() - 1 :].lstrip("\t")
    return writer.rank, rest


def read_labels(line: str) -> tuple[Writer, str]:
    """Who wrote the line by the labels in front of it, and the line without them and without colour."""
    rest = _ANSI.sub("", line) if "\x1b" in line or "\0" in line else line
    if not _ANY.match(rest):
        return _NOBODY, rest
    found: dict[str, str] = {}
    for begins, label in _LABELS:
        if rest[:1] in begins and (match := label.match(rest)):
            named = match.groupdict()
            if named.get("node") not in _NO_HOSTS:
                found |= named
                rest = rest[match.end() :]
    return _writer(found) if found else _NOBODY, rest


def writer_of(line: str, at: int | None = None) -> Writer:
    """Who wrote what stands at this place of the line: the nearest label before it, else what the text names."""
    if at is not None and line.count("[rank", 0, at) + line.count("[default", 0, at) > 1:
        line = _from_last_marker(line, at)
    writer, rest = read_labels(line)
    nccl = _NCCL.search(rest) if writer.node is None and "[" in rest else None
    inside = _INLINE.search(rest) if writer.rank is None and _may_name_rank(rest) else None
    rank = next((one for one in inside.groups() if one), None) if inside else None
    may_name = writer.node is None and nccl is None and ("ode" in rest or "ost" in rest)
    named = _SYSLOG.match(rest) or (_NODE.search(rest) if may_name else None)
    node = nccl[1] if nccl else next((one for one in named.groups() if one), None) if named else None
    return Writer(
        rank=writer.rank if rank is None else Rank(int(rank)),
        local_rank=writer.local_rank,
        node=writer.node if node is None else NodeName(node),
        gpu=int(nccl[3]) if nccl else writer.gpu,
        pid=int(nccl[2]) if nccl else writer.pid,
    )


def rank_inside(text: str) -> Rank | None:
    """A rank that the text itself names."""
    match = _INLINE.search(text) if _may_name_rank(text) else None
    number = next((one for one in match.groups() if one), None) if match else None
    return Rank(int(number)) if number else None


def expand_tasks(text: str, *, most: int) -> tuple[Rank, ...]:
    """`0-2,5` as ranks, at most so many."""
    found: list[Rank] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or len(first) > 7 or (last and (not last.isdecimal() or len(last) > 7)):  # noqa: PLR2004 - ranks
            continue
        for number in range(int(first), int(last or first) + 1):
            if len(found) >= most:
                return tuple(found)
            found.append(Rank(number))
    return tuple(found)


def _may_name_rank(text: str) -> bool:
    """Without these no search finds one; most lines are told by them."""
    return "ank" in text or "PE" in text


def _writer(found: dict[str, str]) -> Writer:
    def number(name: str) -> int | None:
        return int(found[name]) if found.get(name) else None

    rank, node = number("rank"), found.get("node")
    return Writer(
        rank=Rank(rank) if rank is not None else None,
        local_rank=number("local"),
        node=NodeName(node) if node else None,
        gpu=number("gpu"),
        pid=number("pid"),
    )


def _from_last_marker(line: str, at: int) -> str:
    """Two ranks wrote into one line: what the nearest one before the place wrote."""
    last = None
    for marker in _MARKER.finditer(line, 0, at):
        last = marker
    return line[last.start() :] if last else line
