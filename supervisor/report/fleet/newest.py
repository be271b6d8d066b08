"""The newest single interruptions. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from supervisor.ledger.site.history import JobHistory
from supervisor.model.site import SiteIncident

_SPARE_ROWS: Final = 1000
Found = tuple[JobHistory, SiteIncident]
"""The job without its other interruptions, and one of them."""


@dataclass(slots=True)
class Newest:
    """As many as were asked for, and some that are not left out yet."""

    number: int | None
    """None: all."""
    found: list[tuple[JobHistory, list[SiteIncident]]] = field(default_factory=list)
    """Of one job several."""
    since: float = -math.inf
    """What is older is not among them."""
    _spare: int = _SPARE_ROWS
    """How many more are taken until some are left out."""

    def add(self, history: JobHistory, real: Sequence[SiteIncident]) -> None:
        """Those of one more job."""
        since = self.since
        late = [one for one in real if one.at >= since]
        if not late:
            return
        self.found.append((history, late))
        self._spare -= len(late)
        if self._spare < 0 and self.number is not None:
            self.trim()

    def merge(self, other: "Newest") -> None:
        """Those of another part of the jobs."""
        self.found += other.found

    def trim(self) -> None:
        """Leave out what is older than so many others, and of each job what is told elsewhere."""
        self._spare = _SPARE_ROWS
        if self.number is not None:
            ats = sorted([one.at for _, many in self.found for one in many])
            if len(ats) > self.number:
                self.since = ats[-self.number] if self.number else math.inf
        kept = ((history, [one for one in many if one.at >= self.since]) for history, many in self.found)
        self.found = [(_bare(history), many) for history, many in kept if many]

    def rows(self) -> list[Found]:
        """Oldest first."""
        found = [(history, one) for history, many in self.found for one in many]
        ordered = sorted(found, key=lambda row: (row[1].at, row[0].job.job, row[1].incident))
        return ordered if self.number is None else ordered[max(0, len(ordered) - self.number) :]


def _bare(history: JobHistory) -> JobHistory:
    """Without its interruptions: to hand over those of all jobs takes longer than to count them."""
    return JobHistory(job=history.job, use=history.use, source=history.source)
