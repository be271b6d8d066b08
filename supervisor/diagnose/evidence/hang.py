"""Flight-recorder dumps beside each other: which collective is stuck, who never came to it, or came differently.

The rule of the field: by process group, aligned on the sequence number of its collectives; a rank with a dump but
without the first unfinished collective is a suspect, unless it waits in another group itself. A rank without a dump is
a weaker one. Times of different hosts are not compared.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from supervisor.diagnose.evidence.flight import NONE, Dump, Group
from supervisor.diagnose.findings import Finding
from supervisor.model.ids import Rank

_NAMED: Final = 8
"""Ranks that a text names, and that get a finding of their own."""
_DIFFERENT: Final = 0.9
_CYCLE: Final = 0.85
_LATE: Final = 0.5
_MOST_LATE: Final = 0.4
"""More are late than wait: who is odd is less clear."""
_APART: Final = 0.32
"""The rings hold no collective in common, or PyTorch's versions differ."""
_INSIDE: Final = 0.45
_NO_DUMP: Final = 0.35
_UNCLEAR: Final = 0.2
_Told = list[tuple[Dump, Group]]


@dataclass(slots=True)
class _Stuck:
    """The first collective of a group that did not finish."""

    name: str
    number: int
    source: str
    operation: str
    where: str = ""
    there: list[Rank] = field(default_factory=list)
    open: list[Rank] = field(default_factory=list)
    """Of these those for whom it has not finished."""
    late: list[Rank] = field(default_factory=list)
    absent: list[Rank] = field(default_factory=list)
    """Members without a dump."""
    is_aligned: bool = True
    different: dict[str, list[Rank]] = field(default_factory=dict)
    """Ranks by the call they came with, where that is not the same."""

    @property
    def what(self) -> str:
        return f"{self.operation or 'collective'} number {self.number} of group {self.name or 'default'}"


def find(dumps: Sequence[Dump], expected: frozenset[Rank] = frozenset()) -> Iterator[Finding]:
    """What is stuck and for whom; nothing for a group that only waits for ranks which are stuck in another one.

    `expected`: the ranks of the job, where they are known: those without a dump are suspects too.
    """
    stuck = [found for told in _groups(dumps) if (found := _stuck(told, dumps, expected))]
    messages = list(_messages(dumps))
    waits: dict[Rank, list[_Stuck]] = defaultdict(list)
    for found in [*stuck, *messages]:
        for rank in found.open:
            waits[rank].append(found)
    for found in [*stuck, *messages]:
        free = [rank for rank in found.late if rank not in waits]
        if found.different or free or not found.late:
            yield from _findings(found, free)
    yield from _cycles(stuck, waits)


def _groups(dumps: Sequence[Dump]) -> Iterator[_Told]:
    """Each group as all its members tell it. Two groups of one name with other members are two."""
    by_name: dict[str, _Told] = defaultdict(list)
    for one in dumps:
        for name, group in one.groups.items():
            by_name[name].append((one, group))
    for told in by_name.values():
        members = {group.ranks for _, group in told if group.ranks}
        for ranks in members or {()}:
            yield [(one, group) for one, group in told if _belongs(one.rank, group, ranks, is_only=len(members) < 2)]  # noqa: PLR2004 - it or another


def _belongs(rank: Rank, group: Group, ranks: tuple[Rank, ...], *, is_only: bool) -> bool:
    if ranks and rank not in ranks and not group.entries:
        return False  # it only knows of the group
    return group.ranks == ranks or (not group.ranks and (is_only or rank in ranks))


def _stuck(told: _Told, dumps: Sequence[Dump], expected: frozenset[Rank]) -> _Stuck | None:
    number = _first_open(told)
    if number == NONE:
        number = _last_common(told)
        if len(_calls(told, number)) < 2:  # noqa: PLR2004 - nothing to compare
            return None
    ranks = next((group.ranks for _, group in told if group.ranks), ())
    source, first = next((one.source, group.entries[number]) for one, group in told if number in group.entries)
    is_default = told[0][1].name in {"", "0"}
    known = set(ranks) or (set(expected) if is_default else set())
    here = {one.rank for one in dumps}
    late = {one.rank for one, group in told if group.reached < number}
    # A member with a dump that tells nothing of the group never came to it at all.
    late |= (known & here) - {one.rank for one, _ in told}
    calls = _calls(told, number)
    return _Stuck(
        name=told[0][1].name,
        number=number,
        source=source,
        operation=first.operation,
        where=first.where,
        there=sorted(one.rank for one, group in told if group.reached >= number),
        open=sorted(one.rank for one, group in told if _is_open(group, number)),
        late=sorted(late),
        absent=sorted((known & expected if expected else known) - here),
        is_aligned=_is_aligned(told, number),
        different=calls if len(calls) > 1 else {},
    )


def _first_open(told: _Told) -> int:
    return min((one.number for _, group in told for one in group.entries.values() if not one.is_done), default=NONE)


def _last_common(told: _Told) -> int:
    """Gloo counts a collective that failed for its shape as finished: the last one is compared all the same."""
    return min((group.reached for _, group in told if group.entries), default=NONE)


def _is_open(group: Group, number: int) -> bool:
    entry = group.entries.get(number)
    return not entry.is_done if entry else group.reached >= number > group.completed


def _is_aligned(told: _Told, number: int) -> bool:
    """Each ring reaches back to where the last rank is, and one PyTorch wrote them all."""
    slowest = min(group.reached for _, group in told)
    return all(group.oldest <= slowest + 1 for _, group in told if number in group.entries) and (
        len({one.version for one, _ in told}) == 1
    )


def _calls(told: _Told, number: int) -> dict[str, list[Rank]]:
    """Ranks by operation and shape. Where shapes may differ by design only the operations count."""
    calls: dict[str, list[Rank]] = defaultdict(list)
    for one, group in told:
        if entry := group.entries.get(number):
            is_strict = not any(word in entry.operation for word in ("all_to_all", "alltoall", "scatter", "gather"))
            calls[f"{entry.operation} {entry.shape}".strip() if is_strict else entry.operation].append(one.rank)
    return dict(calls)


def _messages(dumps: Sequence[Dump]) -> Iterator[_Stuck]:
    """Messages between two ranks that only one of them has posted."""
    posted: dict[tuple[Rank, Rank], dict[Rank, Dump]] = defaultdict(dict)
    for one in dumps:
        for group in one.groups.values():
            for pair in group.awaited:
                posted[pair][one.rank] = one
    here = {one.rank for one in dumps}
    for (sender, receiver), by in posted.items():
        other = {sender, receiver} - set(by)
        if len(by) == 1 and other <= here:
            rank, one = next(iter(by.items()))
            what = f"message {sender}->{receiver}"
            yield _Stuck("", NONE, one.source, what, there=[rank], open=[rank], late=sorted(other))


def _findings(found: _Stuck, free: Sequence[Rank]) -> Iterator[Finding]:
    if found.different:
        yield from _different(found)
    elif free:
        yield from _late(found, free)
    elif found.absent and len(found.absent) <= len(found.there):
        text = f"{_named(found.absent)} left no dump; {_named(found.there)} wait in {found.what}"
        yield from _each(found, "flight_missing_dump", _NO_DUMP, text, found.absent)
    elif found.absent or len(found.there) < 2:  # noqa: PLR2004 - alone in a group: its others are not known
        text = f"{_named(found.there)} came to {found.what}, of the others nothing is known"
        yield _finding(found, "flight_waiting", _UNCLEAR, text)
    elif len(found.open) * 2 < len(found.there):
        text = f"{found.what} has finished for all but {_named(found.open)}: network or GPU"
        yield from _each(found, "flight_inside", _INSIDE, text, found.open)
    else:
        text = f"all {len(found.there)} ranks came to {found.what}, and it does not finish: network or GPU"
        yield _finding(found, "flight_inside", _INSIDE, text)


def _different(found: _Stuck) -> Iterator[Finding]:
    shapes = sorted(found.different.items(), key=lambda one: len(one[1]))
    is_clear = len(shapes[0][1]) < len(shapes[1][1])
    parts = "; ".join(f"{shape}: {_named(ranks)}" for shape, ranks in shapes[:4])
    text = f"ranks came to number {found.number} of group {found.name or 'default'} with different calls: {parts}"
    rank = shapes[0][1][0] if is_clear else None
    yield _finding(found, "flight_mismatch", _DIFFERENT, text, rank, cause="collective_mismatch")


def _late(found: _Stuck, free: Sequence[Rank]) -> Iterator[Finding]:
    weight = _LATE if len(free) <= len(found.there) else _MOST_LATE
    if found.number == NONE:
        text = f"{_named(free)} never came to {found.what}; the other side waits"
    else:
        text = f"{_named(free)} never came to {found.what}; {len(found.there)} others wait in it"
    yield from _each(found, "flight_late_ranks", weight if found.is_aligned else _APART, text, free)


def _cycles(stuck: Sequence[_Stuck], waits: dict[Rank, list[_Stuck]]) -> Iterator[Finding]:
    """Groups whose late ranks all wait in each other: their collectives are called in different orders."""
    told: set[int] = set()
    for found in stuck:
        ring = _followed(found, waits)
        if id(found) in told or not ring or not any(one is found for one in ring):
            continue
        told |= {id(one) for one in ring}
        others = ", ".join(dict.fromkeys(one.name or "default" for one in ring if one is not found))
        text = (
            f"group {found.name or 'default'} waits for {_named(found.late)}, who wait in group {others} for ranks of "
            "the first one: their collectives are called in different orders"
        )
        yield _finding(found, "flight_cycle", _CYCLE, text, found.late[0], cause="deadlock")


def _followed(found: _Stuck, waits: dict[Rank, list[_Stuck]]) -> list[_Stuck]:
    """Where the ranks that it waits for wait, and those they wait for; empty where this ends at somebody at fault."""
    seen: list[_Stuck] = []
    ahead = [found]
    while ahead:
        one = ahead.pop()
        nexts = [each for rank in one.late for each in waits.get(rank, ())]
        if one.different or one.number == NONE or not one.late or any(rank not in waits for rank in one.late):
            return []
        new = [each for each in nexts if not any(each is known for known in seen)]
        seen += new
        ahead += new
    return seen


def _each(found: _Stuck, signature: str, weight: float, text: str, ranks: Sequence[Rank]) -> Iterator[Finding]:
    for rank in ranks[:_NAMED]:
        yield _finding(found, signature, weight, text, rank)


def _finding(
    found: _Stuck,
    signature: str,
    weight: float,
    text: str,
    rank: Rank | None = None,
    *,
    cause: str = "nccl_timeout_unattributed",
) -> Finding:
    return Finding(
        signature=signature,
        role="echo" if cause == "nccl_timeout_unattributed" else "root",
        cause=cause,
        weight=weight,
        source=found.source,
        text=f"{text} ({found.where})" if found.where else text,
        rank=rank,
        scope="own" if rank is not None else "job",
    )


def _named(ranks: Sequence[Rank]) -> str:
    some = ", ".join(str(one) for one in ranks[:_NAMED])
    more = f" and {len(ranks) - _NAMED} more" if len(ranks) > _NAMED else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {some}{more}"
