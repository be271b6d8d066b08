"""Lines of many files become jobs: each once, with what its owner wrote of it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.lines import Line, SiteOwner
from supervisor.ledger.site.users import agrees
from supervisor.ledger.site.walk import Problems
from supervisor.model.ids import IncidentNo, JobId
from supervisor.model.site import SiteIncident, SiteJob, SiteUse

_Key = tuple[str, JobId, str]
"""Cluster, job, run."""
_SEVERAL: Final = 2


@dataclass(slots=True)
class _Draft:
    """What one owner has written of one job."""

    job: SiteJob | None = None
    incidents: dict[IncidentNo, SiteIncident] = field(default_factory=dict)
    uses: dict[float, SiteUse] = field(default_factory=dict)
    """By beginning: a job that Slurm starts again counts from nothing."""
    began_at: float = 0.0
    paths: list[str] = field(default_factory=list)
    is_headless: bool = False
    """No job has its line in the file. In one that has another's, these are the last words on the job before."""

    def add(self, line: SiteJob | SiteUse) -> None:
        """The next line of the same file; incidents are put where they belong by who reads it."""
        if isinstance(line, SiteUse):
            self.uses[self.began_at] = line
            return
        self.began_at = line.at
        if self.job is None or line.at < self.job.at:
            self.job = line

    def merge(self, other: "_Draft") -> None:
        """What the same owner wrote of the same job in another file."""
        if other.job is not None and (self.job is None or other.job.at < self.job.at):
            self.job = other.job
        for number, incident in other.incidents.items():
            known = self.incidents.get(number)
            if known is None or not known.is_closed:
                self.incidents[number] = incident
        for began_at, use in other.uses.items():
            known_use = self.uses.get(began_at)
            if known_use is None or use.at >= known_use.at:
                self.uses[began_at] = use
        self.paths += other.paths


JobKey = tuple[str, JobId]
"""Cluster and job."""
Drafts = dict[JobKey, dict[str, dict[str, _Draft]]]
"""By job, then by owner, then by run: a forger may have invented a run."""


class Gatherer:
    """Takes files one after the other."""

    def __init__(self, key: bytes, problems: Problems) -> None:
        self._key = key
        self._problems = problems
        self._found: Drafts = {}

    def file(self, path: str, cluster: str, owner: str, *, is_of_ledger: bool) -> "OneFile":
        """The next file; `cluster`: of its folder."""
        return OneFile(self, path, cluster, owner, is_of_ledger=is_of_ledger)

    def keep(self, owner: str, draft: _Draft, key: _Key, path: str) -> None:
        """All of one owner's lines of one job in one file."""
        draft.paths.append(path)
        cluster, job, run = key
        runs = self._found.setdefault((cluster, job), {}).setdefault(owner, {})
        if run in runs:
            runs[run].merge(draft)
        else:
            runs[run] = draft

    def keys(self) -> list[JobKey]:
        """Every job that a line speaks of."""
        return list(self._found)

    def leave(self, keys: Iterable[JobKey]) -> Drafts:
        """Give away what is known of these jobs."""
        return {key: self._found.pop(key) for key in keys if key in self._found}

    def put(self, drafts: Drafts) -> None:
        """Take what another one has given away."""
        for key, by_owner in drafts.items():
            for owner, runs in by_owner.items():
                mine = self._found.setdefault(key, {}).setdefault(owner, {})
                for run, draft in runs.items():
                    if run in mine:
                        mine[run].merge(draft)
                    else:
                        mine[run] = draft

    def jobs(self) -> list[JobHistory]:
        """Every job once, by its beginning; one that two runs had one after the other once for each."""
        found: list[JobHistory] = []
        for (cluster, job), by_owner in self._found.items():
            histories = [
                self._history(owner, draft, (cluster, job, run))
                for owner, runs in by_owner.items()
                for run, draft in runs.items()
            ]
            if len(by_owner) == 1:
                self._tell_forged(histories)
            else:
                histories = self._of_the_right_one(histories)
            found += histories
        return sorted(found, key=lambda each: (each.job.at, each.job.cluster, each.job.job))

    def _tell_forged(self, histories: list[JobHistory]) -> None:
        for history in histories:
            if not history.is_trusted:
                self._tell(history, f"written by {history.owner} in the name of {history.job.user}: not trusted")

    def _of_the_right_one(self, histories: list[JobHistory]) -> list[JobHistory]:
        """Several users have written of one job: who agrees with his own record is right, a name before none."""
        trusted = [history for history in histories if history.is_trusted]
        right = [history for history in trusted if history.job.user] or trusted or histories
        owner = min(history.owner for history in right)
        is_sure = len({history.owner for history in right}) == 1
        doubt = "" if is_sure else f", and {owner} may be as wrong"
        for history in histories:
            if history.owner != owner:
                self._tell(history, f"also written by {owner}{doubt}: left out")
        mine = [history for history in histories if history.owner == owner]
        return mine if is_sure else [replace(history, is_trusted=False) for history in mine]

    def _tell(self, history: JobHistory, what: str) -> None:
        job = history.job
        paths = ", ".join(self._found[job.cluster, job.job][history.owner][job.run].paths)
        self._problems.add(f"{paths} ({history.owner}): job {job.job}, {what}")

    def _history(self, owner: str, draft: _Draft, key: _Key) -> JobHistory:
        job = draft.job or _made_up(draft, key)
        history = JobHistory(
            job=job,
            incidents=_by_number(draft.incidents),
            use=_summed(list(draft.uses.values())),
            owner=owner,
            is_trusted=agrees(job.user, owner, self._key),
        )
        if draft.is_headless and draft.job is None:
            self._tell(history, "without the line of the job itself")
        return history


class OneFile:
    """Takes the lines of one file."""

    def __init__(self, gatherer: Gatherer, path: str, cluster: str, owner: str, *, is_of_ledger: bool) -> None:
        self._gatherer = gatherer
        self._path = path
        self._cluster = cluster
        self._owner = owner
        self._is_of_ledger = is_of_ledger
        self._drafts: dict[tuple[JobId, str], _Draft] = {}
        self.refused = 0
        """Lines that name an owner, in a file of somebody who cannot say that."""

    def take(self, lines: Iterable[Line]) -> None:
        """The next lines, in their order."""
        job, run, draft = JobId(""), "", _Draft()
        incidents = draft.incidents
        for line in lines:  # a million times: the most frequent kind first, and no call for it
            if isinstance(line, SiteOwner):
                self._owned_by(line.owner)
                # Nothing of the section before may take in a line of this one, whatever that calls itself.
                job, run, draft = JobId(""), "", _Draft()
                incidents = draft.incidents
                continue
            if line.job != job or line.run != run:
                job, run = line.job, line.run
                draft = self._draft(job, run)
                incidents = draft.incidents
            if isinstance(line, SiteIncident):
                incidents[line.incident] = line
            else:
                draft.add(line)

    def end(self) -> None:
        """The file is read."""
        clusters = [draft.job.cluster for draft in self._drafts.values() if draft.job]
        for (job, run), draft in self._drafts.items():
            draft.is_headless = not clusters
            cluster = draft.job.cluster if draft.job else next(iter(clusters), self._cluster)
            self._gatherer.keep(self._owner, draft, (cluster, job, run), self._path)
        self._drafts.clear()

    def _draft(self, job: JobId, run: str) -> _Draft:
        draft = self._drafts.get((job, run))
        if draft is None:
            draft = self._drafts[job, run] = _Draft()
        return draft

    def _owned_by(self, owner: str) -> None:
        if not self._is_of_ledger:
            self.refused += 1
            return
        self.end()
        self._owner = owner


def _by_number(incidents: dict[IncidentNo, SiteIncident]) -> tuple[SiteIncident, ...]:
    numbers = list(incidents)
    ordered = sorted(numbers)
    return tuple(incidents.values()) if numbers == ordered else tuple([incidents[number] for number in ordered])


def _made_up(draft: _Draft, key: _Key) -> SiteJob:
    """A job without a line of its own, as far as the others tell."""
    cluster, job, run = key
    lines: list[SiteIncident | SiteUse] = [*draft.incidents.values(), *draft.uses.values()]
    return SiteJob(at=min(line.at for line in lines), cluster=cluster, job=job, run=run)


def _summed(uses: list[SiteUse]) -> SiteUse | None:
    """What a job has used over all its starts."""
    if len(uses) < _SEVERAL:
        return uses[0] if uses else None
    newest = max(uses, key=lambda use: use.at)
    energies = [use.energy_j for use in uses if use.energy_j is not None]
    return msgspec.structs.replace(
        newest,
        held_node_s=sum(use.held_node_s for use in uses),
        computing_node_s=sum(use.computing_node_s for use in uses),
        restarts=sum(use.restarts for use in uses),
        energy_j=sum(energies) if energies else None,
    )
