"""PyTorch's flight recorder: which collective was stuck, which ranks never came to it or came with another shape.

The rule of the field: by process group, aligned on the sequence number of its collectives; a rank with a dump but
without the entry of the first unfinished collective is a suspect. Gloo never reports `completed`: there `retired`
means it. Times of different hosts are not compared.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from supervisor.diagnose.findings import Finding
from supervisor.model.ids import Rank

_ENTRIES: Final = 100_000
_LIST: Final = re.compile(r"\d{1,7}")
_NONE: Final = -1
_NAMED: Final = 8
"""Ranks that a text names."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One collective as one rank recorded it."""

    number: int
    operation: str
    shape: str
    is_done: bool
    where: str = ""
    """The innermost frame of the user's code, where there are frames."""


@dataclass(slots=True)
class Group:
    """One process group as one rank recorded it."""

    name: str
    ranks: tuple[Rank, ...] = ()
    entries: dict[int, Entry] = field(default_factory=dict)
    enqueued: int = _NONE
    completed: int = _NONE


@dataclass(frozen=True, slots=True)
class Dump:
    """What one rank's dump says."""

    rank: Rank
    source: str
    groups: dict[str, Group]


def parse(raw: Mapping[str, Any], rank: Rank, source: str) -> Dump:
    """The dump from its unpickled or JSON form, of versions 2.0 to 2.10. Parts of the wrong shape are left out."""
    groups = {name: Group(name, members) for name, members in _members(raw.get("pg_config"))}
    status = raw.get("pg_status")
    for name, told in status.items() if isinstance(status, dict) else ():
        if isinstance(told, dict):
            group = groups.setdefault(_key(name, groups), Group(str(name)))
            group.enqueued = _int(told.get("last_enqueued_collective"), _NONE)
            group.completed = _int(told.get("last_completed_collective"), _NONE)
    entries = raw.get("entries")
    for entry in entries[-_ENTRIES:] if isinstance(entries, list) else ():
        if isinstance(entry, dict) and not entry.get("is_p2p"):
            _add(groups, entry)
    return Dump(rank=rank, source=source, groups=groups)


def find(dumps: Sequence[Dump]) -> Iterator[Finding]:
    """One finding for each group that is stuck; none for groups that only wait for ranks stuck in another one."""
    stuck = {name: found for name in _names(dumps) if (found := _stuck(name, dumps))}
    waiting = {rank: name for name, found in stuck.items() for rank in found.there}
    for found in stuck.values():
        others = {waiting[rank] for rank in found.late if rank in waiting} - {found.name}
        if found.late and others and not found.mismatch:
            if any(set(stuck[other].late) & set(found.there) for other in others):
                yield _cycle(found, sorted(others))
            continue  # a victim: those who did not come are stuck in another group
        yield _finding(found)


@dataclass(slots=True)
class _Stuck:
    """The first collective of a group that did not finish."""

    name: str
    number: int
    source: str
    there: list[Rank]
    late: list[Rank]
    operation: str = ""
    where: str = ""
    mismatch: dict[str, list[Rank]] = field(default_factory=dict)


def _stuck(name: str, dumps: Sequence[Dump]) -> _Stuck | None:
    members = [(one, one.groups[name]) for one in dumps if name in one.groups]
    open_numbers = [entry.number for _, group in members for entry in group.entries.values() if not entry.is_done]
    if not open_numbers:
        return None
    number = min(open_numbers)
    there = [one.rank for one, group in members if number in group.entries or group.enqueued >= number]
    late = [one.rank for one, group in members if number not in group.entries and group.enqueued < number]
    # A rank of the group without entries here, but with a dump, is late too: it never came to the group at all.
    expected = {rank for _, group in members for rank in group.ranks}
    late += [one.rank for one in dumps if one.rank in expected and name not in one.groups]
    shapes: dict[str, list[Rank]] = {}
    for one, group in members:
        if entry := group.entries.get(number):
            shapes.setdefault(f"{entry.operation} {entry.shape}".strip(), []).append(one.rank)
    first = next(group.entries[number] for _, group in members if number in group.entries)
    source = next(one.source for one, group in members if number in group.entries)
    return _Stuck(
        name=name,
        number=number,
        source=source,
        there=sorted(there),
        late=sorted(set(late)),
        operation=first.operation,
        where=first.where,
        mismatch=shapes if len(shapes) > 1 and not _is_all_to_all(first.operation) else {},
    )


def _finding(found: _Stuck) -> Finding:
    what = f"{found.operation or 'collective'} number {found.number} of group {found.name or 'default'}"
    if found.mismatch:
        few = min(found.mismatch.items(), key=lambda one: len(one[1]))
        parts = "; ".join(f"{shape}: {_named(ranks)}" for shape, ranks in list(found.mismatch.items())[:4])
        text = f"ranks came to number {found.number} of group {found.name or 'default'} with different calls: {parts}"
        return _of(found, "flight_mismatch", "collective_mismatch", 0.9, text, few[1], role="root")
    if found.late:
        text = f"{_named(found.late)} never came to {what}; {len(found.there)} others wait in it"
        return _of(found, "flight_late_ranks", "nccl_timeout_unattributed", 0.5, text, found.late)
    text = f"all {len(found.there)} ranks came to {what}, and it does not finish: network or GPU"
    return _of(found, "flight_inside", "nccl_timeout_unattributed", 0.45, text, [])


def _cycle(found: _Stuck, others: Sequence[str]) -> Finding:
    text = (
        f"group {found.name or 'default'} waits for {_named(found.late)}, who wait in group {', '.join(others)} for "
        f"ranks of the first one: their collectives are called in different orders"
    )
    return _of(found, "flight_cycle", "deadlock", 0.85, text, found.late, role="root")


def _of(
    found: _Stuck, signature: str, cause: str, weight: float, text: str, ranks: Sequence[Rank], role: str = "echo"
) -> Finding:
    where = f" ({found.where})" if found.where else ""
    return Finding(
        signature=signature,
        role="root" if role == "root" else "echo",
        cause=cause,
        weight=weight,
        source=found.source,
        text=f"{text}{where}",
        rank=ranks[0] if ranks else None,
        scope="own" if ranks else "job",
        step=found.number,
    )


def _names(dumps: Sequence[Dump]) -> list[str]:
    return list(dict.fromkeys(name for one in dumps for name in one.groups))


def _add(groups: dict[str, Group], entry: Mapping[str, Any]) -> None:
    name = _key(_group_name(entry), groups)
    group = groups.setdefault(name, Group(name))
    number = _int(entry.get("collective_seq_id"), _NONE)
    if number < 0:
        return
    group.entries[number] = Entry(
        number=number,
        operation=str(entry.get("profiling_name") or "").partition(":")[2] or str(entry.get("profiling_name") or ""),
        shape=f"{_shape(entry.get('input_sizes'))} {_shape(entry.get('input_dtypes'))}".strip(),
        is_done=entry.get("state") == "completed" or bool(entry.get("retired")) or number <= group.completed,
        where=_frame(entry.get("frames")),
    )


def _group_name(entry: Mapping[str, Any]) -> str:
    named = entry.get("process_group")
    if isinstance(named, list | tuple) and named:
        return str(named[0])
    return str(entry.get("pg_id", ""))


def _key(name: Any, groups: Mapping[str, Group]) -> str:  # a string, or a number in old dumps
    """Gloo names its default group by the empty string in one place and by `0` in others."""
    text = str(name)
    return "" if text == "0" and text not in groups and "" in groups else text


def _members(config: Any) -> Iterator[tuple[str, tuple[Rank, ...]]]:  # an object by group name
    for name, told in config.items() if isinstance(config, dict) else ():
        ranks = told.get("ranks") if isinstance(told, dict) else None
        text = ranks if isinstance(ranks, str) else str(ranks) if isinstance(ranks, list) else ""
        yield str(name), tuple(Rank(int(one)) for one in _LIST.findall(text))


def _shape(value: Any) -> str:  # nested lists, or strings
    return str(value)[:120].replace(" ", "") if value else ""


def _frame(frames: Any) -> str:  # a list of objects
    for one in frames if isinstance(frames, list) else ():
        if isinstance(one, dict) and "/torch/" not in str(one.get("filename")):
            return f"{str(one.get('filename')).rpartition('/')[2]}:{one.get('line')}:{one.get('name')}"[:120]
    return ""


def _is_all_to_all(operation: str) -> bool:
    """Its shapes differ between ranks by design."""
    return "all_to_all" in operation or "alltoall" in operation


def _named(ranks: Sequence[Rank]) -> str:
    some = ", ".join(str(one) for one in ranks[:_NAMED])
    more = f" and {len(ranks) - _NAMED} more" if len(ranks) > _NAMED else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {some}{more}"


def _int(value: Any, otherwise: int) -> int:  # a number, or a string in JSON dumps
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, int):
        return value
    text = str(value)
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 19 else otherwise  # noqa: PLR2004 - digits of an int64
