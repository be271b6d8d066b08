"""Jobs whose record is complete go on at once; the others wait until everything is read. Pure.

To keep a million interruptions until all of them are known takes a gigabyte. A record is likely to be all there is of
its job where its last interruption is closed: last words in the file of a later job are on one that was left open.
Where a further record turns up all the same, the job has gone on too early, and whoever asked must read again with that
job apart.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from supervisor.ledger.site.draft import Draft
from supervisor.ledger.site.gather import Gatherer, JobKey
from supervisor.ledger.site.history import JobHistory
from supervisor.model.ids import JobId


@dataclass(slots=True)
class Settled:
    """Stands before a gatherer."""

    waiting: Gatherer
    """Has all jobs that wait."""
    apart: Collection[JobKey] = frozenset()
    """Jobs that wait, whatever their record says."""
    gone: set[JobKey] = field(default_factory=set)
    """Jobs that went on."""
    again: set[JobKey] = field(default_factory=set)
    """Those of them that were met again: what they came to is wrong."""
    _next: list[JobHistory] = field(default_factory=list)

    def keep(self, owner: str, draft: Draft, cluster: str, job: JobId, run: str) -> None:
        """All of one owner's lines of one job in one file."""
        key = cluster, job
        if key in self.gone:
            self.again.add(key)
        elif draft.is_settled and key not in self.apart and not self.waiting.has(key):
            self.gone.add(key)
            self._next.append(self.waiting.alone(key, owner, run, draft))
        else:
            self.waiting.keep(owner, draft, cluster, job, run)

    def take(self) -> list[JobHistory]:
        """Jobs that go on now."""
        found, self._next = self._next, []
        return found
