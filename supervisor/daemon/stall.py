"""Whether the ranks stand still after one of them has failed, as far as their beats tell. Pure; time is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from supervisor.core import standstill
from supervisor.model.ids import NodeName, Rank
from supervisor.model.wire import RankBeat

_SKEW_S = 2.0
"""So much older than the news of a failure a rank's last sign of life may be."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The output told that a task failed, which may have been another program than the ranks that beat."""

    rank: Rank | None
    node: NodeName | None
    at: float
    is_early: bool
    """No rank of the attempt had been seen yet."""
    is_told: bool = True
    """By the output; otherwise a process was seen to be gone, and nothing tells of its end."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One rank's last sign of progress."""

    node: NodeName
    beat: RankBeat
    moved_at: float
    seen_at: float
    intervals: standstill.Intervals = ()
    saving_since: float | None = None
    """When the save began that it is in."""

    @property
    def is_alive(self) -> bool:
        """Its process exists, as far as its agent knows."""
        return self.beat.is_alive


class Stall:
    """The ranks that live and the failures that wait for a judgement; there is at least one of each."""

    def __init__(self, ranks: Mapping[Rank, Seen], failures: Sequence[Failure], *, awake_since: float) -> None:
        self._ranks = tuple(ranks.values())
        self._living = tuple(rank for rank in self._ranks if rank.is_alive)
        self._failures = failures
        failed_at = min(failure.at for failure in failures)
        self.since = max([failed_at, awake_since, *(rank.moved_at for rank in self._living)])
        """When the last of them moved, or the first failure became known."""

    def is_certain(self, now: float, *, stall_s: float) -> bool:
        """Nobody has moved for `stall_s`; or for less, where that was seen and not only no beat has come."""
        if now - self.since >= stall_s:
            return True
        return self._seen_until() - self.since >= self._needed_s(stall_s)

    def is_unseen(self, now: float, *, stall_s: float) -> bool:
        """Beats are missing: to know who has died, or that who should have moved by now has not."""
        seen_until = self._seen_until()
        is_news = seen_until < max(failure.at for failure in self._failures)
        return is_news or seen_until < self.since + self._needed_s(stall_s) <= now

    def _seen_until(self) -> float:
        return min(rank.seen_at for rank in self._living)

    def _needed_s(self, stall_s: float) -> float:
        """Less than `stall_s` only where one of those that beat has just died, and the others are in midst of steps.

        Who went on for as long as that without it does not need it at each step: a pause may have any other reason.
        """
        are_at_work = all(standstill.is_at_work(rank.beat.phase) for rank in self._living)
        fresh = [failure for failure in self._failures if self.since - failure.at < stall_s]
        if not are_at_work or not any(self._has_killed_a_rank(failure) for failure in fresh):
            return stall_s
        return standstill.needed_s((standstill.usual_s(rank.intervals) for rank in self._living), stall_s=stall_s)

    def _has_killed_a_rank(self, failure: Failure) -> bool:
        """Srun told of a task's end, and the rank of that number on that node, which had beaten, is dead.

        Where no rank there has that number, the task was a launcher: it took all the node's ranks with it. A line that
        names no node is a launcher's own, which may start its workers again.
        """
        if failure.node is None or not failure.is_told:
            return False
        there = [rank for rank in self._ranks if rank.node == failure.node]
        same = [rank for rank in there if rank.beat.rank == failure.rank]
        return bool(there) and not any(rank.is_alive for rank in same or there)


def is_refuted(failure: Failure, ranks: Mapping[Rank, Seen], *, progress_at: float, stall_s: float) -> bool:
    """The failure cannot have been one of our ranks': a check before the training that was allowed to fail."""
    if progress_at - failure.at >= stall_s:
        return True  # a dead rank's step stays: where even the slowest moves, none is dead
    if failure.rank is None:
        return failure.is_early
    same = ranks.get(failure.rank)
    if same is None:
        return False
    if failure.node in {None, same.node}:
        return same.is_alive and same.seen_at - failure.at > _SKEW_S
    return failure.is_early  # a launcher's task number, not a rank's


def intervals_with(known: Seen, beat: RankBeat, moved_at: float) -> standstill.Intervals:
    """The rank's usual intervals with what this beat adds to them; another process begins with none."""
    if beat.pid != known.beat.pid:
        return ()
    if not standstill.is_at_work(beat.phase):
        return known.intervals
    return standstill.noted(
        known.intervals,
        since=known.beat.phase,
        seconds=moved_at - known.moved_at,
        beats=beat.count - known.beat.count,
    )
