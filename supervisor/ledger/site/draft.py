"""What one owner has written of one job, and what that comes to: no more than the job's nodes could bear. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

import msgspec

from supervisor.model.ids import IncidentNo, JobId
from supervisor.model.site import SiteIncident, SiteJob, SiteUse

_SLACK_S: Final = 1.0
"""Times are rounded, and clocks are corrected."""
_MOST_NODE_WATTS: Final = 100_000.0
"""No node draws as much."""
_SEVERAL: Final = 2


@dataclass(slots=True)
class Draft:
    """The lines of one owner on one job."""

    job: SiteJob | None = None
    incidents: dict[IncidentNo, SiteIncident] = field(default_factory=dict)
    uses: dict[float, SiteUse] = field(default_factory=dict)
    """By beginning: a job that Slurm starts again counts from nothing."""
    began_at: float = 0.0
    most_nodes: int = 0
    """Of all its starts."""
    paths: str = ""
    is_headless: bool = False
    """No job has its line in the file. In one that has another's, these are the last words on the job before."""

    @property
    def is_settled(self) -> bool:
        """It has the job's own line, and leaves nothing open that another file could close."""
        incidents = self.incidents
        return self.job is not None and (not incidents or incidents[next(reversed(incidents))].is_closed)

    def add(self, line: SiteJob | SiteIncident | SiteUse) -> None:
        """The next line of the same file."""
        if isinstance(line, SiteUse):
            self.uses[self.began_at] = line
        elif isinstance(line, SiteIncident):
            self.incidents[line.incident] = line
        else:
            self._begin(line)

    def merge(self, other: "Draft") -> None:
        """What the same owner wrote of the same job in another file."""
        if other.job is not None and (self.job is None or other.job.at < self.job.at):
            self.job = other.job
        self.most_nodes = max(self.most_nodes, other.most_nodes)
        for number, incident in other.incidents.items():
            known = self.incidents.get(number)
            if known is None or not known.is_closed:
                self.incidents[number] = incident
        for began_at, use in other.uses.items():
            known_use = self.uses.get(began_at)
            if known_use is None or use.at >= known_use.at:
                self.uses[began_at] = use
        self.paths = ", ".join(filter(None, (self.paths, other.paths)))

    def parts(self, cluster: str, job: JobId, run: str) -> tuple[SiteJob, tuple[SiteIncident, ...], SiteUse | None]:
        """The job with its interruptions and its use; one whose own line is missing as far as the others tell."""
        known = self.job or self._made_up(cluster, job, run)
        use = _summed(self.uses.values())
        last_at = known.at
        if use is not None:
            use = _possible(use, self.most_nodes * max(0.0, use.at - known.at + _SLACK_S))
            last_at = max(last_at, use.at)
        if not self.incidents:
            return known, (), use
        return known, _at_most(_by_number(self.incidents), self.most_nodes, known.at, last_at), use

    def _begin(self, line: SiteJob) -> None:
        self.began_at = line.at
        self.most_nodes = max(self.most_nodes, len(line.nodes))
        if self.job is None or line.at < self.job.at:
            self.job = line

    def _made_up(self, cluster: str, job: JobId, run: str) -> SiteJob:
        lines: list[SiteIncident | SiteUse] = [*self.incidents.values(), *self.uses.values()]
        return SiteJob(at=min(line.at for line in lines), cluster=cluster, job=job, run=run)


def _by_number(incidents: dict[IncidentNo, SiteIncident]) -> tuple[SiteIncident, ...]:
    numbers = list(incidents)
    ordered = sorted(numbers)
    return tuple(incidents.values()) if numbers == ordered else tuple([incidents[number] for number in ordered])


def _at_most(
    incidents: tuple[SiteIncident, ...], nodes: int, began_at: float, last_at: float
) -> tuple[SiteIncident, ...]:
    """All interruptions of a job together cost no more than it had: its user's figures must not tip those of a site.

    `last_at`: the last word on its use; those come hourly, and an interruption may have lasted until after it.
    """
    lost = sum([one.lost_node_s for one in incidents])
    if lost <= nodes * (last_at - began_at):
        return incidents
    last_at = max(last_at, *(one.at + one.split.after_opening_s for one in incidents))
    share = nodes * (last_at - began_at + _SLACK_S) / lost
    if share >= 1:
        return incidents
    return tuple([msgspec.structs.replace(one, lost_node_s=one.lost_node_s * max(0.0, share)) for one in incidents])


def _possible(use: SiteUse, limit: float) -> SiteUse:
    """Held for no longer than the job's nodes were there, and no more energy than they can draw."""
    held, energy = use.held_node_s, use.energy_j
    if held <= limit and (energy is None or energy <= held * _MOST_NODE_WATTS):
        return use
    held = min(held, limit)
    return msgspec.structs.replace(
        use,
        held_node_s=held,
        computing_node_s=min(use.computing_node_s, held),
        energy_j=None if energy is None else min(energy, held * _MOST_NODE_WATTS),
    )


def _summed(uses: Collection[SiteUse]) -> SiteUse | None:
    """What a job has used over all its starts."""
    if len(uses) < _SEVERAL:
        return next(iter(uses), None)
    newest = max(uses, key=lambda use: use.at)
    energies = [use.energy_j for use in uses if use.energy_j is not None]
    return msgspec.structs.replace(
        newest,
        held_node_s=sum(use.held_node_s for use in uses),
        computing_node_s=sum(use.computing_node_s for use in uses),
        restarts=sum(use.restarts for use in uses),
        energy_j=sum(energies) if energies else None,
    )
