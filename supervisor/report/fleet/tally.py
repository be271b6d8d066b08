"""Histories of jobs become sums, job by job, in any order and in any number of parts. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from supervisor.ledger.site.history import JobHistory
from supervisor.model.site import SiteIncident, SiteUse
from supervisor.model.verdict import Class
from supervisor.report.fleet.cost import watts
from supervisor.report.fleet.fold import UNHANDLED, fold_losses, fold_times, within
from supervisor.report.fleet.sums import Cells, Held, RunSum, Times, Use, add_cell, add_cells, new_cells
from supervisor.report.fleet.window import MOST_WINDOWS, Asked, overlap

_OVER: Final = frozenset({"", "stopped", "failed"})
"""Ends after which a run waits for somebody; empty: nobody could write one."""
_SPARE_ROWS: Final = 1000
_at = attrgetter("at")


@dataclass(slots=True)
class Tally:
    """Everything that figures are made from; of one part of the jobs, or of all."""

    asked: Asked
    jobs: int = 0
    planned: int = 0
    causes: Cells = field(default_factory=new_cells)
    nodes: Cells = field(default_factory=new_cells)
    """By the node most to blame."""
    days: Cells = field(default_factory=new_cells)
    """Since the epoch, UTC."""
    users: Cells = field(default_factory=new_cells)
    partitions: Cells = field(default_factory=new_cells)
    sizes: Cells = field(default_factory=new_cells)
    """By class of size: the largest number of nodes in it; 0: not known."""
    held: dict[int, Held] = field(default_factory=dict)
    """By class of size."""
    use: Use = field(default_factory=Use)
    held_gpu_s: float = 0.0
    energy_j: float = 0.0
    measured_jobs: int = 0
    """Of how many jobs the energy was read."""
    windows: dict[int, Use] = field(default_factory=dict)
    """For the trend, by their index in `asked`."""
    runs: dict[str, RunSum] = field(default_factory=dict)
    times: Times = field(default_factory=Times)
    newest: list[tuple[JobHistory, SiteIncident]] = field(default_factory=list)
    """The job without its other interruptions."""
    newest_from: float = -math.inf
    """What is older is not among the newest."""
    untrusted: Counter[str] = field(default_factory=Counter)

    def add_all(self, histories: Iterable[JobHistory]) -> "Tally":
        """Those of a source."""
        for history in histories:
            self.add(history)
        self.times.sort()
        return self

    def add(self, history: JobHistory) -> None:
        """One more job. A file that names another user than its owner counts in nothing."""
        if not history.is_trusted:
            self.untrusted[history.owner] += 1
            return
        asked, last_at = self.asked, _last_at(history)
        self._add_trend(history)
        if history.job.at >= asked.until or last_at < asked.begin:
            return
        real, planned = within(history.incidents, asked.begin, asked.until)
        self.jobs += 1
        self.planned += planned
        self._add_use(history, last_at, len(real))
        if real:
            self._add_losses(history, real)
            fold_times(real, self.times)
            self._add_newest(history, real)

    def merge(self, other: "Tally") -> None:
        """What another part of the jobs came to."""
        self.jobs += other.jobs
        self.planned += other.planned
        for mine, theirs in zip(self.all_cells(), other.all_cells(), strict=True):
            add_cells(mine, theirs)
        for size, held in other.held.items():
            self.held.setdefault(size, Held()).add(held)
        self.use.add(other.use)
        self.held_gpu_s += other.held_gpu_s
        self.energy_j += other.energy_j
        self.measured_jobs += other.measured_jobs
        for index, use in other.windows.items():
            self.windows.setdefault(index, Use()).add(use)
        for run, found in other.runs.items():
            self._add_run(run, found)
        self.times.add(other.times)
        self.newest += other.newest
        self.untrusted += other.untrusted

    def newest_rows(self) -> list[tuple[JobHistory, SiteIncident]]:
        """As many interruptions as were asked for, oldest first."""
        ordered = sorted(self.newest, key=lambda row: (row[1].at, row[0].job.job, row[1].incident))
        return ordered if self.asked.rows is None else ordered[max(0, len(ordered) - self.asked.rows) :]

    def all_cells(self) -> Sequence[Cells]:
        """Every histogram."""
        return (self.causes, self.nodes, self.days, self.users, self.partitions, self.sizes)

    def _add_trend(self, history: JobHistory) -> None:
        use, begin, asked = history.use, history.job.at, self.asked
        if use is None or begin >= asked.until:
            return
        newest = max(0, asked.index(max(begin, use.at)))
        for index in range(newest, min(asked.index(begin) + 1, MOST_WINDOWS)):
            until = asked.until if index == 0 else asked.begins_at(index - 1)
            share = overlap(begin, use.at, asked.begins_at(index), until)
            self.windows.setdefault(index, Use()).add(_part(use, share))

    def _add_use(self, history: JobHistory, last_at: float, interruptions: int) -> None:
        size, use, asked = size_of(history), history.use, self.asked
        share = overlap(history.job.at, use.at, asked.begin, asked.until) if use else 0.0
        mine = _part(use, share)
        mine.interruptions = interruptions
        self.use.add(mine)
        held = self.held.setdefault(size_class(size), Held())
        held.add(Held(1, mine.held_s / max(1, size), mine.held_s, interruptions))
        self.held_gpu_s += mine.held_s * history.job.gpus_per_node
        if use is not None and use.energy_j is not None:
            self.energy_j += use.energy_j * share
            self.measured_jobs += 1
        self._add_run(history.job.run, _run(history, last_at, mine))

    def _add_run(self, run: str, found: RunSum) -> None:
        known = self.runs.get(run)
        if known is None:
            self.runs[run] = found
        else:
            known.add(found)

    def _add_losses(self, history: JobHistory, real: Sequence[SiteIncident]) -> None:
        job, gpus = history.job, history.job.gpus_per_node
        size = size_class(size_of(history))
        causes = fold_losses(real, self.nodes, self.days, gpus=gpus, watts=watts(history))
        for cls, by_cause in causes.items():
            head, rows = (cls, gpus), self.causes[cls, gpus]
            users, partitions, sizes = self.users[head], self.partitions[head], self.sizes[head]
            for cause, cell in by_cause.items():
                add_cell(rows, cause, cell)
                add_cell(users, job.user, cell)
                add_cell(partitions, job.partition, cell)
                add_cell(sizes, size, cell)

    def _add_newest(self, history: JobHistory, real: Sequence[SiteIncident]) -> None:
        rows, bare = self.asked.rows, JobHistory(job=history.job, use=history.use, source=history.source)
        if rows is None:
            self.newest.extend([(bare, one) for one in real])
            return
        late = [one for one in real if one.at >= self.newest_from]
        self.newest.extend([(bare, one) for one in sorted(late, key=_at)[max(0, len(late) - rows) :]])
        if len(self.newest) > rows + _SPARE_ROWS:
            self.newest = self.newest_rows()
            self.newest_from = self.newest[0][1].at if rows else math.inf


def size_of(history: JobHistory) -> int:
    """Nodes of the job; 0: nobody knows."""
    return len(history.job.nodes) or max((incident.node_count for incident in history.incidents), default=0)


def _last_at(history: JobHistory) -> float:
    """The newest word about it; interruptions are in their order."""
    used = history.use.at if history.use else history.job.at
    return max(history.job.at, used, history.incidents[-1].at if history.incidents else used)


def size_class(nodes: int) -> int:
    """The power of two that so many nodes are at most."""
    return 1 << (nodes - 1).bit_length() if nodes else 0


def _part(use: SiteUse | None, share: float) -> Use:
    """A job's use is spread evenly over its time: its ledger keeps no course of it."""
    if use is None:
        return Use()
    return Use(use.held_node_s * share, min(use.held_node_s, use.computing_node_s) * share)


def _run(history: JobHistory, last_at: float, use: Use) -> RunSum:
    job = history.job
    found = RunSum(use, last_at, job.job, job.user)
    end = history.use.end if history.use else ""
    if end in _OVER and history.incidents:
        last = history.incidents[-1]
        if last.action in UNHANDLED and last.cls is not Class.PLANNED:
            found.open_at = last.at
            found.why = (str(last.cls), last.cause, last.nodes[0] if last.nodes else "")
    return found
