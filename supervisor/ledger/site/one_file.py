"""The lines of one file of the ledger, each put to the job that it speaks of. Pure."""

from collections.abc import Iterable
from typing import Protocol

from supervisor.ledger.site.draft import Draft
from supervisor.ledger.site.lines import Line, SiteOwner
from supervisor.ledger.site.names import is_file_of
from supervisor.model.ids import IncidentNo, JobId
from supervisor.model.site import SiteIncident, SiteJob


class Keeps(Protocol):
    """Where all of one owner's lines on one job in one file go."""

    def keep(self, owner: str, draft: Draft, cluster: str, job: JobId, run: str) -> None:
        """Take them."""


class OneFile:
    """Takes the lines of one file."""

    def __init__(self, gatherer: Keeps, path: str, cluster: str, owner: str, *, is_of_ledger: bool) -> None:
        """`cluster`: of its folder."""
        self._gatherer = gatherer
        self._path = path
        self._cluster = cluster
        self._owner = owner
        self._is_of_ledger = is_of_ledger
        self._drafts: dict[tuple[JobId, str], Draft] = {}
        self.owners_refused = 0
        """Lines that name an owner, in a file of somebody who cannot say that."""
        self.jobs_refused = 0
        """Lines that begin another job than that of the file's name, in a file of a user."""

    def take(self, lines: Iterable[Line]) -> None:
        """The next lines, in their order."""
        job, run, incidents = JobId(""), "", dict[IncidentNo, SiteIncident]()
        for line in lines:  # a million times: the most frequent kind first, and no call for it
            if type(line) is SiteIncident and line.run == run and line.job == job:
                incidents[line.incident] = line
            elif isinstance(line, SiteOwner):
                self._owned_by(line.owner)
                # Nothing of the section before may take in a line of this one, whatever that calls itself.
                job, run = JobId(""), ""
            elif isinstance(line, SiteJob) and not self._may_begin(line):
                self.jobs_refused += 1
            else:
                job, run = line.job, line.run
                draft = self._draft(job, run)
                incidents = draft.incidents
                draft.add(line)

    def end(self) -> None:
        """The file is read."""
        clusters = [draft.job.cluster for draft in self._drafts.values() if draft.job]
        for (job, run), draft in self._drafts.items():
            draft.paths = self._path
            draft.is_headless = not clusters
            cluster = draft.job.cluster if draft.job else next(iter(clusters), self._cluster)
            self._gatherer.keep(self._owner, draft, cluster, job, run)
        self._drafts.clear()

    def refused(self) -> tuple[str, ...]:
        """What the file claims and may not."""
        owners = "names owners of lines, which it may not: ignored"
        jobs = f"begins {self.jobs_refused} {'job' if self.jobs_refused == 1 else 'jobs'} of other files: ignored"
        return (owners,) * bool(self.owners_refused) + (jobs,) * bool(self.jobs_refused)

    def _may_begin(self, line: SiteJob) -> bool:
        """One file of a user speaks for one job: who would take hundreds from others needs hundreds of files."""
        return self._is_of_ledger or is_file_of(self._path.rpartition("/")[2], line.job, line.run)

    def _draft(self, job: JobId, run: str) -> Draft:
        draft = self._drafts.get((job, run))
        if draft is None:
            draft = self._drafts[job, run] = Draft()
        return draft

    def _owned_by(self, owner: str) -> None:
        if not self._is_of_ledger:
            self.owners_refused += 1
            return
        self.end()
        self._owner = owner
