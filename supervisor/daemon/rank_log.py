"""The last lines of each rank as `sattach -l` labels them: bounded, scanned once, chosen for an incident. Pure."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from supervisor.bus.protocol import NO_ATTEMPT
from supervisor.core.events import Event, LineSeen, RankFailed
from supervisor.diagnose.bundle import Log
from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.lines import LineScanner, shortened
from supervisor.model.ids import AttemptNo, Rank

_LABELLED: Final = re.compile(r" {0,7}(\d{1,7}): (.*)", re.DOTALL)
_EXITED: Final = re.compile(r"sattach: error: task (\d{1,7}) exited with exit code (\d{1,3})\b")
"""sattach's own word, which comes seconds before srun's: srun is told only when sattach has not answered."""
_LINES: Final = 200
_TASK_BYTES: Final = 64 * 1024
_TOTAL_BYTES: Final = 64 * 1024 * 1024
"""What all tasks may hold together: each has its share, so that no flood of one costs another its lines."""
_TASKS: Final = 4096
_CHOSEN: Final = 64
"""Failing ranks that an incident keeps, and others beside them."""


@dataclass(slots=True)
class _Lines:
    """One task's last lines."""

    kept: deque[str] = field(default_factory=deque)
    size_bytes: int = 0

    def add(self, line: str, limit_bytes: int) -> None:
        self.kept.append(line)
        self.size_bytes += _size(line)
        while len(self.kept) > _LINES or (self.size_bytes > limit_bytes and len(self.kept) > 1):
            self.size_bytes -= _size(self.kept.popleft())


@dataclass(slots=True)
class _Step:
    """One step: how many tasks it has (0: unknown) and what they wrote."""

    tasks: int
    lines: dict[int, _Lines] = field(default_factory=dict)

    def has_ranks(self, ranks: int) -> bool:
        """Its tasks are the ranks. Not where a launcher starts several in each: then their counts differ."""
        return not ranks or self.tasks in {0, ranks}


class RankLog:
    """The labelled lines of one attempt."""

    def __init__(self) -> None:
        self.begin(NO_ATTEMPT)

    def begin(self, attempt: AttemptNo) -> None:
        """Forget what earlier attempts wrote."""
        self._attempt = attempt
        self._steps: dict[str, _Step] = {}
        self._tasks = 0
        self._events: list[Event] = []
        self._first: set[str] = set()
        self._telling: dict[Rank, None] = {}
        self._scanner = LineScanner(kind="ranks")

    def add_step(self, step: str, tasks: int) -> None:
        """Lines of this step will follow. Of two steps with a rank of the same number the later one counts."""
        self._steps.setdefault(step, _Step(tasks))

    def has_lines(self, step: str) -> bool:
        """Some task of the step has written."""
        found = self._steps.get(step)
        return found is not None and bool(found.lines)

    def line(self, step: str, line: str, *, ranks: int, now: float) -> None:
        """Take one line of sattach. `ranks`: how many are known by their beats; 0: none has told of itself."""
        found = self._steps.get(step)
        if found is None:  # of an attempt that is over
            return
        if exited := _EXITED.match(line):
            self._exited(found, int(exited[1]), int(exited[2]), line, ranks=ranks, now=now)
        elif labelled := _LABELLED.match(line):
            self._written(found, int(labelled[1]), shortened(labelled[2]), ranks=ranks, now=now)

    def events(self) -> list[Event]:
        """What the lines meant since the last call."""
        told, self._events = self._events, []
        return told

    def logs(self, failing: Iterable[Rank], *, ranks: int) -> tuple[Log, ...]:
        """One log for each failing rank, first failure first, and for some others; at most 128 in all.

        A task that is no rank (torchrun starts several in each) is named `ranks/task3.log` and blames nobody.
        """
        known = {log.name: log for log in self._all(ranks)}
        wanted = [_name(rank) for rank in dict.fromkeys([*self._telling, *failing])]
        first = [known.pop(name) for name in wanted if name in known][:_CHOSEN]
        return (*first, *list(known.values())[:_CHOSEN])

    def _all(self, ranks: int) -> Iterator[Log]:
        for step in self._steps.values():
            has_ranks = step.has_ranks(ranks)
            for task, lines in sorted(step.lines.items()):
                rank = Rank(task) if has_ranks else None
                name = _name(rank) if rank is not None else f"ranks/task{task}.log"
                yield Log(name=name, lines=tuple(lines.kept), kind="ranks", rank=rank)

    def _written(self, step: _Step, task: int, text: str, *, ranks: int, now: float) -> None:
        lines = step.lines.get(task)
        if lines is None:
            if self._tasks >= _TASKS:
                return
            self._tasks += 1
            lines = step.lines[task] = _Lines()
        lines.add(text, min(_TASK_BYTES, _TOTAL_BYTES // self._tasks))
        # The label is one that the scanner knows; a label that the line has of itself goes before it.
        for hit in self._scanner.hits(f"{task}: {text}" if step.has_ranks(ranks) else text):
            self._tell(hit, text, now)

    def _tell(self, hit: Hit, text: str, now: float) -> None:
        if hit.root:
            self._note(hit.rank)
        key = f"{hit.signature} {hit.node} {hit.rank if hit.code or hit.signal else ''}"
        if key in self._first or len(self._first) > _TASKS:
            return
        self._first.add(key)
        if hit.code or hit.signal:
            self._failed(hit.rank, hit.code, hit.signal, text, now)
        else:
            self._events.append(LineSeen(at=now, attempt=self._attempt, signature=hit.signature, text=text))

    def _exited(self, step: _Step, task: int, code: int, line: str, *, ranks: int, now: float) -> None:
        """Said again with each retry of slurmstepd: told once."""
        if f"exited {task}" in self._first or not code:
            return
        self._first.add(f"exited {task}")
        self._failed(Rank(task) if step.has_ranks(ranks) else None, code, None, line, now)

    def _failed(self, rank: Rank | None, code: int | None, signal: int | None, text: str, now: float) -> None:
        self._note(rank)
        self._events.append(
            RankFailed(at=now, attempt=self._attempt, rank=rank, node=None, code=code, signal=signal, text=text)
        )

    def _note(self, rank: Rank | None) -> None:
        if rank is not None and len(self._telling) < _CHOSEN:
            self._telling.setdefault(rank)


def _name(rank: Rank) -> str:
    return f"ranks/{rank}.log"


def _size(line: str) -> int:
    return len(line.encode(errors="replace"))
