"""What one rank's flight-recorder dump says: its process groups, the collectives it came to, the peers it waits for.

Written for dumps of versions 2.0 to 2.10, by NCCL and gloo. Gloo never reports `completed`: there `retired` means it;
it tells the members of a group only for the first one, and under the empty name.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from supervisor.model.ids import Rank

_DONE_KEPT: Final = 64
"""Finished collectives of a group that are kept: to compare their shapes, and to see where the ring begins."""
_MEMBERS: Final = re.compile(r"\d{1,7}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_PEERS: Final = re.compile(r"(?:send|recv) (?P<own>\d{1,7})(?P<way>->|<-)(?P<other>\d{1,7})")
_MOST: Final = 2**63
_TEXT_CHARS: Final = 120
NONE: Final = -1


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
    """Its members, where the dump tells them."""
    entries: dict[int, Entry] = field(default_factory=dict)
    """By number: all that did not end, and the last ones that did."""
    reached: int = NONE
    """The last collective that the rank came to; -1 where it came to none."""
    oldest: int = NONE
    """The first collective that the ring still holds."""
    completed: int = NONE
    awaited: set[tuple[Rank, Rank]] = field(default_factory=set)
    """Sender and receiver of messages that have not arrived."""


@dataclass(frozen=True, slots=True)
class Dump:
    """What one rank's dump says."""

    rank: Rank
    source: str
    groups: dict[str, Group]
    version: str = ""


def parse(raw: Mapping[str, Any], rank: Rank, source: str) -> Dump:
    """The dump from its unpickled or JSON form. Parts of the wrong shape are left out; never raises."""
    told = raw.get("entries")
    entries = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    groups = {name: Group(name, members) for name, members in _members(raw.get("pg_config"))}
    _read_status(groups, raw.get("pg_status"), _names_by_id(entries))
    same: dict[str, str] = {}
    for entry in entries:
        name = _key(_group_name(entry), groups)
        group = groups.setdefault(name, Group(name))
        if entry.get("is_p2p"):
            _read_message(group, entry)
        else:
            _read_entry(group, entry, same)
    for group in groups.values():
        _forget_old(group)
    return Dump(rank=rank, source=source, groups=groups, version=str(raw.get("version") or "")[:16])


def _members(config: Any) -> Iterator[tuple[str, tuple[Rank, ...]]]:  # an object by group name
    for name, told in config.items() if isinstance(config, dict) else ():
        ranks = told.get("ranks") if isinstance(told, dict) else None
        text = ranks if isinstance(ranks, str) else str(ranks) if isinstance(ranks, list) else ""
        yield str(name), tuple(sorted({Rank(int(one)) for one in _MEMBERS.findall(text)}))


def _names_by_id(entries: list[dict[str, Any]]) -> dict[str, str]:
    """Status goes by a number that each process counts for itself: only entries tell which group it means."""
    return {str(one.get("pg_id")): _group_name(one) for one in entries}


def _read_status(groups: dict[str, Group], status: Any, names: Mapping[str, str]) -> None:  # an object by id
    for number, told in status.items() if isinstance(status, dict) else ():
        if not isinstance(told, dict) or (str(number) not in names and str(number) != "0"):
            continue
        name = _key(names.get(str(number), "0"), groups)
        group = groups.setdefault(name, Group(name))
        group.reached = _int(told.get("last_enqueued_collective"))
        group.completed = _int(told.get("last_completed_collective"))


def _read_entry(group: Group, entry: Mapping[str, Any], same: dict[str, str]) -> None:
    """`same` keeps one copy of each text: a ring repeats a few of them thousands of times."""
    number = _int(entry.get("collective_seq_id"))
    if number < 0:
        return
    operation = _operation(entry)
    shape = f"{_shape(entry.get('input_sizes'))} {_shape(entry.get('input_dtypes'))}".strip()
    where = _frame(entry.get("frames"))
    is_done = entry.get("state") == "completed" or bool(entry.get("retired")) or number <= group.completed
    texts = (same.setdefault(text, text) for text in (operation, shape, where))
    operation, shape, where = texts
    group.entries[number] = Entry(number, operation, shape, is_done, where)
    group.reached = max(group.reached, number)
    group.oldest = number if group.oldest < 0 else min(group.oldest, number)


def _read_message(group: Group, entry: Mapping[str, Any]) -> None:
    match = _PEERS.search(_operation(entry))
    if match is None or entry.get("state") == "completed" or entry.get("retired"):
        return
    own, other = (_global(group, int(match[name])) for name in ("own", "other"))
    if own is not None and other is not None:
        group.awaited.add((own, other) if match["way"] == "->" else (other, own))


def _global(group: Group, number: int) -> Rank | None:
    """A rank of the job by its number in the group."""
    if not group.ranks:
        return Rank(number) if group.name in {"", "0"} else None
    return group.ranks[number] if number < len(group.ranks) else None


def _forget_old(group: Group) -> None:
    done = sorted(one.number for one in group.entries.values() if one.is_done)
    for number in done[:-_DONE_KEPT]:
        del group.entries[number]


def _operation(entry: Mapping[str, Any]) -> str:
    """`all_reduce` of `nccl:all_reduce`."""
    name = str(entry.get("profiling_name") or "")[:_TEXT_CHARS]
    return name.partition(":")[2] or name


def _group_name(entry: Mapping[str, Any]) -> str:
    named = entry.get("process_group")
    if isinstance(named, list | tuple) and named:
        return str(named[0])[:_TEXT_CHARS]
    return str(entry.get("pg_id", ""))[:_TEXT_CHARS]


def _key(name: str, groups: Mapping[str, Group]) -> str:
    """Gloo names its default group by the empty string in one place and by `0` in others."""
    return "" if name == "0" and name not in groups and "" in groups else name


def _shape(value: Any) -> str:  # nested lists, or strings
    return str(value)[:_TEXT_CHARS].replace(" ", "") if value else ""


def _frame(frames: Any) -> str:  # a list of objects, innermost first
    for one in frames if isinstance(frames, list) else ():
        if isinstance(one, dict) and "-packages/torch/" not in str(one.get("filename")):
            return f"{str(one.get('filename')).rpartition('/')[2]}:{one.get('line')}:{one.get('name')}"[:_TEXT_CHARS]
    return ""


def _int(value: Any) -> int:  # a number, or a string in JSON dumps
    """-1 for what is no number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -_MOST < value < _MOST else NONE
    return int(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else NONE
