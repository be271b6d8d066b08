"""What root's hooks have written of a node, weighed by itself: it needs no statistics. Pure.

A fatal finding makes a node suspect at once. One of level `suspect` does when it comes again; what a user's program
can bring about has to come again from another user.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.model.node import NodeFinding, NodeRecord
from supervisor.report.nodes.model import Level, Look, Telemetry
from supervisor.report.nodes.names import is_node, word

AGAIN_S: Final = 3600.0
"""What is told again within an hour is the same event: the health check holds an Xid for as long."""
_BY_USERS: Final = frozenset(
    {"gpu_memory_held", "stuck_process", "shm_full", "tmp_full", "xid_13", "xid_31", "xid_43", "xid_45", "xid_109"}
)
_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class _Fired:
    """One rule in one record."""

    record: NodeRecord
    finding: NodeFinding


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
    fatal = [each for each in fired if each.finding.level == "fatal"]
    serious = [each for each in fired if each.finding.level == "suspect"]
    if fatal:
        return _telemetry("suspect", fatal, records)
    again = [each for each in serious if _comes_again([one for one in serious if _is_same(one, each)])]
    if again:
        return _telemetry("suspect", again, records)
    return _telemetry("watch" if serious else "ok", serious, records)


def _is_same(one: _Fired, other: _Fired) -> bool:
    return (one.finding.rule, one.finding.gpu) == (other.finding.rule, other.finding.gpu)


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
    same = [each for each in fired if _is_same(each, newest)]
    return Telemetry(
        level=level,
        rule=word(newest.finding.rule),
        gpu=word(newest.finding.gpu),
        # Of what a user brings about the text holds words of his, as the name of a process.
        text="" if newest.finding.rule in _BY_USERS else word(newest.finding.text, _TEXT),
        since=same[0].record.at,
        times=len(same),
        ok_at=ok_at,
        records=number,
        drain=word(newest.record.drain, _TEXT),
    )
