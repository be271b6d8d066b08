"""Histories of jobs become sums, job by job, in any order and in any number of parts. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import msgspec

from supervisor.ledger.site.history import JobHistory
from supervisor.model.site import SiteIncident
from supervisor.report.fleet.cost import watts
from supervisor.report.fleet.fate import standing, unhandled, waits
from supervisor.report.fleet.fold import count_persons, fold_losses, within
from supervisor.report.fleet.measured import Measured
from supervisor.report.fleet.newest import Newest
from supervisor.report.fleet.sums import Held, RunKey, RunSum, Sums, Times, Use, new_sums
from supervisor.report.fleet.trend import Trend
from supervisor.report.fleet.window import Asked, overlap

_SLACK_S: Final = 1.0
"""Times are rounded, and clocks are corrected."""
_lost = attrgetter("lost_node_s")


@dataclass(slots=True)
class Tally:
    """Everything that figures are made from; of one part of the jobs, or of all."""

    asked: Asked
    jobs: int = 0
    planned: int = 0
    not_over: int = 0
    """Interruptions of which nobody can say yet whether they need a person."""
    sums: Sums = field(default_factory=new_sums)
    held: dict[int, Held] = field(default_factory=dict)
    """By class of size."""
    use: Use = field(default_factory=Use)
    held_gpu_s: float = 0.0
    energy_j: float = 0.0
    measured_jobs: int = 0
    """Of how many jobs the energy was read."""
    trend: Trend = field(init=False)
    runs: dict[RunKey, RunSum] = field(default_factory=dict)
    times: Times = field(default_factory=Times)
    newest: Newest = field(init=False)
    untrusted: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.trend = Trend(self.asked)
        self.newest = Newest(self.asked.rows)

    def add_all(self, histories: Iterable[JobHistory]) -> "Tally":
        """Those of a source. Each is let go at once: what is kept of a million comes back slowly from memory."""
        measured = Measured(self.times)
        for history in histories:
            self._add(history, measured)
        measured.end()
        self.newest.trim()
        return self

    def merge(self, other: "Tally") -> None:
        """What another part of the jobs came to."""
        self.jobs += other.jobs
        self.planned += other.planned
        self.not_over += other.not_over
        for head, histograms in other.sums.items():
            self.sums[head].add(histograms)
        for size, held in other.held.items():
            self.held.setdefault(size, Held()).add(held)
        self.use.add(other.use)
        self.held_gpu_s += other.held_gpu_s
        self.energy_j += other.energy_j
        self.measured_jobs += other.measured_jobs
        self.trend.merge(other.trend)
        for key, found in other.runs.items():
            self._add_run(key, found)
        self.times.add(other.times)
        self.newest.merge(other.newest)
        self.untrusted += other.untrusted

    def _add(self, history: JobHistory, measured: Measured) -> None:
        """One more job. A file that names another user than its owner counts in nothing."""
        if not history.is_trusted:
            self.untrusted[history.owner] += 1
            return
        asked, job, last_at = self.asked, history.job, _last_at(history)
        if history.use is not None:
            self.trend.add(job.at, history.use)
        if job.at >= asked.until or last_at < asked.begin:
            return
        real, planned = within(history.incidents, asked.begin, asked.until)
        run = self._add_use(history, last_at, len(real))
        self.jobs += 1
        self.planned += planned
        how = standing(history, last_at, asked.until)
        if waits(history, how):
            last = history.incidents[-1]
            run.open_at = last.at
            run.why = str(last.cls), last.cause, last.nodes[0] if last.nodes else ""
        if real:
            real = _possible(real, history, run.held_s, asked)
            by_person, not_over = unhandled(history, real, how)
            self.not_over += len(not_over)
            gpus, whose = job.gpus_per_node, (job.user, job.partition, size_class(size_of(history)))
            fold_losses(real, gpus, whose, watts(history), self.sums)
            count_persons(by_person, gpus, whose, self.sums)
            measured.add(real)
            self.newest.add(history, real)
        # One user may be called by his name here and by a pseudonym there, or by nothing but the owner of his file.
        self._add_run((job.cluster, history.person or job.user or history.owner, job.run), run)

    def _add_use(self, history: JobHistory, last_at: float, interruptions: int) -> RunSum:
        """What this job has used in the time that is asked for."""
        asked, job, use = self.asked, history.job, history.use
        run = RunSum(interruptions=interruptions, last_at=last_at, job=job.job, user=job.user)
        if use is not None:
            is_within = asked.begin <= job.at and use.at <= asked.until
            share = 1.0 if is_within else overlap(job.at, use.at, asked.begin, asked.until)
            run.held_s = use.held_node_s * share
            run.computing_s = min(use.held_node_s, use.computing_node_s) * share
            if use.energy_j is not None:
                self.energy_j += use.energy_j * share
                self.measured_jobs += 1
        self.use.add(run)
        self.held_gpu_s += run.held_s * job.gpus_per_node
        size = size_of(history)
        held = self.held.setdefault(size_class(size), Held())
        held.jobs += 1
        held.job_s += run.held_s / max(1, size)
        held.node_s += run.held_s
        held.interruptions += interruptions
        return run

    def _add_run(self, key: RunKey, found: RunSum) -> None:
        known = self.runs.get(key)
        if known is None:
            self.runs[key] = found
        else:
            known.join(found)


def size_of(history: JobHistory) -> int:
    """Nodes of the job; 0: nobody knows."""
    return len(history.job.nodes) or max((incident.node_count for incident in history.incidents), default=0)


def size_class(nodes: int) -> int:
    """The power of two that so many nodes are at most."""
    return 1 << (nodes - 1).bit_length() if nodes else 0


def _last_at(history: JobHistory) -> float:
    """The newest word about it; interruptions are in their order."""
    used = history.use.at if history.use else history.job.at
    return max(history.job.at, used, history.incidents[-1].at if history.incidents else used)


def _possible(real: list[SiteIncident], history: JobHistory, held_s: float, asked: Asked) -> list[SiteIncident]:
    """Together they cost no more than the job had in the time asked for: one user must not tip the figures of a site.

    A job tells its use once an hour, and a folder of runs that of the newest job alone: what it had is at least what
    its nodes make of the time until the last interruption was over.
    """
    lost = sum(map(_lost, real))
    if lost <= held_s:
        return real
    until = max(_last_at(history), *(one.at + one.split.after_opening_s for one in real))
    seconds = min(until, asked.until) - max(history.job.at, asked.begin)
    limit = max(held_s, size_of(history) * (seconds + _SLACK_S))
    if lost <= limit:
        return real
    return [msgspec.structs.replace(one, lost_node_s=one.lost_node_s * limit / lost) for one in real]
