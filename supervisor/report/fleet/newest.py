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
    found: list[Found] = field(default_factory=list)
    since: float = -math.inf
    """What is older is not among them."""

    def add(self, history: JobHistory, real: Sequence[SiteIncident]) -> None:
        """Those of one more job."""
        since = self.since
        late = [one for one in real if one.at >= since]
        if not late:
            return
        bare = JobHistory(job=history.job, use=history.use, source=history.source)
        self.found.extend([(bare, one) for one in late])
        if self.number is not None and len(self.found) > self.number + _SPARE_ROWS:
            self.trim()

    def merge(self, other: "Newest") -> None:
        """Those of another part of the jobs."""
        self.found += other.found

    def trim(self) -> None:
        """Leave out what is not among them."""
        if self.number is None or len(self.found) <= self.number:
            return
        self.found = self.rows()
        self.since = self.found[0][1].at if self.found else math.inf

    def rows(self) -> list[Found]:
        """Oldest first."""
        ordered = sorted(self.found, key=lambda row: (row[1].at, row[0].job.job, row[1].incident))
        return ordered if self.number is None else ordered[max(0, len(ordered) - self.number) :]
