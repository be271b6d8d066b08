"""What root's hooks have written of a node, weighed by itself: it needs no statistics. Pure.

A fatal finding makes a node suspect at once. One of level `suspect` does when it comes again; what a user's program
can bring about has to come again from another user. A finding that describes how the node is counts while it is so:
a later look that found nothing makes an update of the driver, or a hot day, worth knowing and no more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from supervisor.model.node import Hook, NodeFinding, NodeRecord
from supervisor.report.nodes.model import Level, Look, Telemetry
from supervisor.report.nodes.names import is_node, word

AGAIN_S: Final = 3600.0
"""What is told again within an hour is the same event: the health check holds an Xid for as long."""
_OF_USERS: Final = frozenset({"gpu_memory_held", "stuck_process", "shm_full", "tmp_full"})
"""Their text holds what is a user's own: his number, the name of his process."""
_BY_USERS: Final = _OF_USERS | {
    # Load alone makes a GPU hot or slow, and a program that fails can leave a driver that does not answer.
    *("gpu_hot", "hbm_hot", "throttled", "nvml_hangs"),
    *("xid_13", "xid_31", "xid_43", "xid_45", "xid_109", "xid_110", "xid_167"),
}
"""What a user's program can bring about."""
_ENDED_BY: Final[Mapping[str, frozenset[Hook]]] = {
    **dict.fromkeys(
        (
            *("driver_mismatch", "nvml_error", "recovery_action", "fabric_not_started", "fabric_failed"),
            *("remap_pending", "gpu_hot", "hbm_hot", "throttled", "shm_full", "tmp_full"),
        ),
        frozenset[Hook]({"health", "epilog"}),
    ),
    # An epilog compares with the prolog before it: what was missing then is missing to neither.
    **dict.fromkeys(("gpu_missing", "driver_gone"), frozenset[Hook]({"health"})),
    # The health check does not look whose processes are left.
    **dict.fromkeys(("gpu_memory_held", "stuck_process"), frozenset[Hook]({"epilog"})),
}
"""Findings that describe a state, with the hooks that would see it if it went on.

All others are events, and no later look takes them back: a row that could not be remapped, an Xid, a machine check.
So are `nvlink_down` and `pcie_width`: after a boot nobody knows how the link was before.
"""
_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class _Fired:
    """One rule in one record."""

    record: NodeRecord
    finding: NodeFinding


_Key = tuple[str, str]
"""Rule and GPU."""


def by_node(records: Iterable[NodeRecord], look: Look) -> dict[str, tuple[NodeRecord, ...]]:
    """The records of the window, each once, oldest first, by node."""
    found: dict[str, list[NodeRecord]] = {}
    for record in records:
        if is_node(record.node) and look.has(record.node, record.at):
            found.setdefault(record.node, []).append(record)
    return {node: _each_once(mine) for node, mine in found.items()}


def _each_once(records: Iterable[NodeRecord]) -> tuple[NodeRecord, ...]:
    ordered = sorted(records, key=lambda each: (each.at, repr(each)))
    return tuple(each for place, each in enumerate(ordered) if not place or each != ordered[place - 1])


def weigh(records: Sequence[NodeRecord]) -> Telemetry:
    """What they come to. They are of one node, oldest first."""
    fired = [_Fired(record, finding) for record in records for finding in record.findings]
    serious = [each for each in fired if each.finding.level in {"fatal", "suspect"}]
    over = _over(serious, records)
    standing = [each for each in serious if _key(each) not in over]
    if fatal := [each for each in standing if each.finding.level == "fatal"]:
        return _telemetry("suspect", fatal, records)
    by_key: dict[_Key, list[_Fired]] = {}
    for each in standing:
        by_key.setdefault(_key(each), []).append(each)
    if again := [each for each in standing if _comes_again(by_key[_key(each)])]:
        return _telemetry("suspect", again, records)
    if standing or not serious:
        return _telemetry("watch" if standing else "ok", standing, records)
    return replace(_telemetry("watch", serious, records), is_over=True)


def _over(serious: Sequence[_Fired], records: Sequence[NodeRecord]) -> frozenset[_Key]:
    """States that a hook has not found any more since they were found last."""
    found_at = {_key(each): each.record.at for each in serious}
    well_at = {record.hook: record.at for record in records if _is_well(record)}
    return frozenset(
        key
        for key, at in found_at.items()
        if any(well_at.get(hook, at) > at for hook in _ENDED_BY.get(key[0], frozenset()))
    )


def _is_well(record: NodeRecord) -> bool:
    """It found nothing, and not for want of an answer from the driver."""
    return record.level == "ok" and not any(text.startswith("gpus:") for text in record.unread)


def _key(fired: _Fired) -> _Key:
    return fired.finding.rule, fired.finding.gpu


def _comes_again(fired: Sequence[_Fired]) -> bool:
    if fired[-1].record.at - fired[0].record.at < AGAIN_S:
        return False
    if fired[0].finding.rule not in _BY_USERS:
        return True
    return len({each.record.uid for each in fired if each.record.uid is not None}) > 1


def _telemetry(level: Level, fired: Sequence[_Fired], records: Sequence[NodeRecord]) -> Telemetry:
    """Named after the newest one that counts: its number and its beginning are those of its rule and GPU."""
    oks = [record.at for record in records if record.level == "ok"]
    ok_at, number = (max(oks) if oks else None), len(records)
    if not fired:
        return Telemetry(level=level, ok_at=ok_at, records=number)
    newest = fired[-1]
    same = [each for each in fired if _key(each) == _key(newest)]
    return Telemetry(
        level=level,
        rule=word(newest.finding.rule),
        gpu=word(newest.finding.gpu),
        text="" if newest.finding.rule in _OF_USERS else word(newest.finding.text, _TEXT),
        since=same[0].record.at,
        times=len(same),
        ok_at=ok_at,
        records=number,
        drain=word(newest.record.drain, _TEXT),
    )
