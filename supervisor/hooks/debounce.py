"""What counts only when it is seen again: findings of one health check beside those of the runs before. Pure."""

from collections.abc import Iterable

import msgspec

from supervisor.hooks.settings import HookSettings
from supervisor.hooks.verdict import rank
from supervisor.model.base import Fact
from supervisor.model.node import Level, NodeFinding


class Seen(Fact, frozen=True, kw_only=True):
    """One finding over several runs."""

    finding: NodeFinding
    runs: int = 1
    """In a row."""
    until: float = 0.0
    """An event is told once, and counts as seen up to this time. 0: it counts while it is there."""


def debounced(
    before: Iterable[Seen],
    states: Iterable[NodeFinding],
    events: Iterable[NodeFinding],
    *,
    now: float,
    settings: HookSettings,
) -> tuple[Seen, ...]:
    """What is seen now, with the number of runs. An Xid comes once in the log, so it is held for a while."""
    was = {_key(each.finding): each for each in before}
    found: dict[tuple[str, str], Seen] = {}
    for finding in states:
        old = was.get(_key(finding))
        found[_key(finding)] = Seen(finding=finding, runs=old.runs + 1 if old else 1)
    for finding in events:
        old = was.get(_key(finding))
        seen = Seen(finding=finding, runs=old.runs + 1 if old else 1, until=now + settings.hold_s)
        found.setdefault(_key(finding), seen)
    for key, old in was.items():
        if old.until > now:
            found.setdefault(key, msgspec.structs.replace(old, runs=old.runs + 1))
    return tuple(found.values())


def confirmed(seen: Iterable[Seen], settings: HookSettings, *, is_booting: bool) -> tuple[NodeFinding, ...]:
    """The findings at their own level once they were seen often enough, watched until then and right after a boot."""
    return tuple(
        _at_most(each.finding, "watch") if is_booting or each.runs < settings.confirm_runs else each.finding
        for each in seen
    )


def _at_most(finding: NodeFinding, level: Level) -> NodeFinding:
    return finding if rank(finding.level) <= rank(level) else msgspec.structs.replace(finding, level=level)


def _key(finding: NodeFinding) -> tuple[str, str]:
    return finding.rule, finding.gpu
