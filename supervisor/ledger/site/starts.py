"""Rows of the accounting, put together to the starts of each job. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from supervisor.model.accounts import AccountedJob
from supervisor.model.ids import JobId, NodeName

RESIZING: Final = "RESIZING"
"""What a row ends with where the job goes on with fewer nodes in the next one."""

_QUEUED_AGAIN_S: Final = 600.0
"""Slurm queues a job again when its last process has ended, a node's epilog included."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a job to its end; several rows where it lost nodes on the way."""

    rows: tuple[AccountedJob, ...]

    @property
    def first(self) -> AccountedJob:
        """As it began."""
        return self.rows[0]

    @property
    def state(self) -> str:
        """Slurm's word for how it ended."""
        return self.rows[-1].state

    @property
    def comment(self) -> str:
        """The newest one."""
        return next((row.comment for row in reversed(self.rows) if row.comment), "")

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """All that it began with."""
        return self.first.nodes

    @property
    def gpus_per_node(self) -> int:
        """0: none."""
        return round(self.first.gpus / len(self.nodes)) if self.nodes else 0

    @property
    def held_s(self) -> float:
        """How long it ran."""
        return sum(row.elapsed_s for row in self.rows)

    @property
    def held_node_s(self) -> float:
        """Node-seconds: a node that left is counted until then."""
        return sum(row.elapsed_s * len(row.nodes) for row in self.rows)

    @property
    def until(self) -> float:
        """When it ended; of one that runs the time of the answer."""
        last = self.rows[-1]
        return last.started_at + last.elapsed_s if last.ended_at is None else last.ended_at


def starts_of(rows: Iterable[AccountedJob]) -> list[tuple[Start, ...]]:
    """The starts of each job in time; jobs in the order of their first start."""
    jobs: list[list[list[AccountedJob]]] = []
    newest: dict[tuple[str, JobId, str], list[list[AccountedJob]]] = {}
    for row in sorted(rows, key=lambda row: (row.started_at, row.ended_at or float("inf"))):
        name = (row.cluster, row.raw_id, row.user)
        starts = newest.get(name)
        if starts is None or not _goes_on(starts[-1][-1], row):
            newest[name] = starts = []
            jobs.append(starts)
        if starts and starts[-1][-1].state == RESIZING:
            starts[-1].append(row)
        else:
            starts.append([row])
    return [tuple(Start(tuple(part)) for part in starts) for starts in jobs]


def _goes_on(before: AccountedJob, row: AccountedJob) -> bool:
    """Numbers come round: a row is of the same job only where it was queued before the one before was over."""
    if before.ended_at is None or row.submitted_at is None:
        return True
    return row.submitted_at <= before.ended_at + _QUEUED_AGAIN_S
