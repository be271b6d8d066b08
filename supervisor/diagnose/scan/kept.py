"""Findings of one log, bounded: of each signature and rank the first ones and the last, and how many there were."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.lines import Telling
from supervisor.diagnose.scan.memory import Meaning
from supervisor.diagnose.scan.traces import FATAL, Trace
from supervisor.model.ids import Rank

_SAME: Final = 12
"""Findings of one signature and rank that are kept beside the last one."""
_KINDS: Final = 20_000
"""Signatures and ranks; of more nothing is kept."""


@dataclass(slots=True)
class _Kind:
    """Findings of one signature and rank."""

    first: list[Finding] = field(default_factory=list)
    last: Callable[[], Finding] | None = None
    """Makes the last one, once it is known to be that."""
    count: int = 0


@dataclass(slots=True)
class _Run:
    """Parts of which only the last one is of use."""

    kinds: list[_Kind]
    last: int = -1
    dropped: int = 0


class Kept:
    """Takes findings one by one. `rank`: who wrote the lines that do not say it."""

    def __init__(self, rank: Rank | None) -> None:
        self._rank = rank
        self._kinds: dict[tuple[str, Rank | None], _Kind] = {}
        self._fatal: dict[int, tuple[_Kind, int]] = {}  # by line: findings of fatal errors, whose frames come later

    def add_hit(self, hit: Hit, finding: Callable[[], Finding]) -> None:
        """Keep it, or what makes it."""
        self._add((hit.signature, hit.rank if hit.rank is not None else self._rank), finding)

    def add(self, finding: Finding) -> None:
        """Keep it."""
        self._add((finding.signature, finding.rank), lambda: finding)

    def attach(self, trace: Trace) -> bool:
        """A fatal error was told before its frames: its finding gets the innermost of them."""
        if trace.number not in self._fatal:
            return False
        kind, at = self._fatal.pop(trace.number)
        kind.first[at] = replace(kind.first[at], frame=trace.top)
        return True

    def without_repeated(self, parts: Iterable[Telling]) -> list[Telling]:
        """Of parts that say nothing but what was said often enough, the last ones of each kind; others only count."""
        left: list[Telling | None] = []
        runs: dict[tuple[int, ...], _Run] = {}
        known: dict[int, tuple[Meaning, _Run]] = {}  # most parts mean what others meant: their meaning is the very same
        for part in parts:
            meaning = part[2]
            told = known.get(id(meaning))
            if told is None and not meaning.is_trigger and (full := self._all_full(meaning.hits)):
                run = runs.setdefault(tuple([id(kind) for kind in full]), _Run(full))
                told = known[id(meaning)] = (meaning, run)
            if told is not None:
                run = told[1]
                if run.last >= 0:
                    left[run.last] = None
                    run.dropped += 1
                run.last = len(left)
            left.append(part)
        for run in runs.values():
            for kind in run.kinds:
                kind.count += run.dropped
        return [part for part in left if part is not None]

    def findings(self, went_on: Callable[[Finding], bool]) -> Iterator[Finding]:
        """All that are kept, in the order of their lines. `went_on`: whether the writer did after this one."""
        found = [
            (one, kind.count if one is kind.first[0] else 1)
            for kind in self._kinds.values()
            for one in (*kind.first, *([kind.last()] if kind.last else []))
        ]
        for finding, count in sorted(found, key=lambda one: one[0].order):
            has_gone_on = went_on(finding)
            is_changed = has_gone_on or count > 1
            yield replace(finding, count=count, went_on=has_gone_on) if is_changed else finding

    def _add(self, key: tuple[str, Rank | None], finding: Callable[[], Finding]) -> None:
        kind = self._kinds.get(key)
        if kind is None:
            if len(self._kinds) > _KINDS:
                return
            kind = self._kinds[key] = _Kind()
        kind.count += 1
        if len(kind.first) >= _SAME:
            kind.last = finding
            return
        made = finding()
        kind.first.append(made)
        if made.role != "context" and FATAL in made.text:
            self._fatal.setdefault(made.order[1], (kind, len(kind.first) - 1))

    def _all_full(self, hits: Iterable[Hit]) -> list[_Kind]:
        """Where their findings are kept, if none of them would be among the first ones."""
        found = []
        for hit in hits:
            kind = self._kinds.get((hit.signature, hit.rank if hit.rank is not None else self._rank))
            if kind is None or kind.last is None:
                return []
            found.append(kind)
        return found
