"""Lines of many files become jobs: each once, with what its owner wrote of it. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from supervisor.ledger.site.draft import Draft
from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.users import agrees, is_nameless, is_pseudonym, pseudonym
from supervisor.ledger.site.walk import Problems
from supervisor.model.ids import JobId

JobKey = tuple[str, JobId]
"""Cluster and job."""
ByOwner = dict[tuple[str, str], Draft]
"""By owner and run: a forger may have invented a run."""
Drafts = dict[JobKey, ByOwner]


class Gatherer:
    """Takes files one after the other."""

    def __init__(self, key: bytes, problems: Problems) -> None:
        self._key = key
        self._problems = problems
        self._found: Drafts = {}
        self._persons: dict[str, str] = {}

    def keep(self, owner: str, draft: Draft, cluster: str, job: JobId, run: str) -> None:
        """All of one owner's lines of one job in one file."""
        _put(self._found.setdefault((cluster, job), {}), (owner, run), draft)

    def has(self, key: JobKey) -> bool:
        """Whether a line that was kept speaks of this job."""
        return key in self._found

    def alone(self, key: JobKey, owner: str, run: str, draft: Draft) -> JobHistory:
        """The job as one owner has it, where no other one has written of it."""
        history = self._history(key, owner, run, draft)
        if not history.is_trusted:
            what = f"written by {history.owner} in the name of {history.job.user}: not trusted"
            self._tell(draft.paths, history, what)
        return history

    def known(self) -> list[JobKey]:
        """Every job that a line speaks of."""
        return list(self._found)

    def leave(self, keys: Iterable[JobKey]) -> Drafts:
        """Give away what is known of these jobs."""
        return {key: self._found.pop(key) for key in keys if key in self._found}

    def put(self, drafts: Drafts) -> None:
        """Take what another one has given away."""
        for key, by_owner in drafts.items():
            mine = self._found.setdefault(key, {})
            for name, draft in by_owner.items():
                _put(mine, name, draft)

    def jobs(self) -> list[JobHistory]:
        """Every job once, by its beginning; one that two runs had one after the other once for each."""
        found: list[JobHistory] = []
        for key, by_owner in self._found.items():
            if len(by_owner) > 1:
                by_owner = self._found[key] = self._united(by_owner)  # noqa: PLW2901  # the same job, known better
            if len(by_owner) == 1 or len({owner for owner, _ in by_owner}) == 1:
                mine = [self.alone(key, owner, run, draft) for (owner, run), draft in by_owner.items()]
            else:
                mine = self._of_the_right_one(key, self._with_the_jobs_line(key, by_owner))
            found += mine
        return sorted(found, key=lambda each: (each.job.at, each.job.cluster, each.job.job))

    def _united(self, by_owner: ByOwner) -> ByOwner:
        """What a user has written of a job is his under all his names: in a month that is over he has another."""
        owners = sorted({owner for owner, _ in by_owner}, key=is_pseudonym, reverse=True)
        names = {person: owner for owner in owners if (person := self._person(owner))}
        found: ByOwner = {}
        for (owner, run), draft in by_owner.items():
            _put(found, (names.get(self._person(owner), owner), run), draft)
        return found

    def _person(self, owner: str) -> str:
        """His pseudonym, where the key tells it; his one name where it does not; nothing for whom nobody can name."""
        if owner not in self._persons:
            is_known = self._key and not is_pseudonym(owner)
            known = pseudonym(owner, self._key) if is_known else owner
            self._persons[owner] = "" if is_nameless(owner) else known
        return self._persons[owner]

    def _with_the_jobs_line(self, key: JobKey, by_owner: ByOwner) -> ByOwner:
        """Of several users those whose own file it is: last words on a job are its user's alone.

        One file speaks of thousands of jobs, and would put all of them in doubt.
        """
        owners = {owner for (owner, _), draft in by_owner.items() if draft.job}
        for (owner, _), draft in by_owner.items() if owners else ():
            if owner not in owners:
                self._problems.add(
                    f"{draft.paths} ({owner}): job {key[1]}, whose file is that of {min(owners)}: left out"
                )
        return {name: draft for name, draft in by_owner.items() if name[0] in owners} or by_owner

    def _of_the_right_one(self, key: JobKey, by_owner: ByOwner) -> list[JobHistory]:
        """Several users say that a job is theirs: those who disagree with their own record do not count.

        Of two who do agree nothing here tells who is right. A name is no more than none: at a site that keeps no names
        a forger has one.
        """
        histories = [self._history(key, owner, run, draft) for (owner, run), draft in by_owner.items()]
        right = [history for history in histories if history.is_trusted] or histories
        owner = min(right, key=lambda history: (not history.job.user, history.owner)).owner
        is_sure = len({history.owner for history in right}) == 1
        doubt = "" if is_sure else f", and {owner} may be as wrong"
        for history in histories:
            if history.owner != owner:
                paths = by_owner[history.owner, history.job.run].paths
                self._tell(paths, history, f"also written by {owner}{doubt}: left out")
        mine = [history for history in histories if history.owner == owner]
        return mine if is_sure else [replace(history, is_trusted=False) for history in mine]

    def _history(self, key: JobKey, owner: str, run: str, draft: Draft) -> JobHistory:
        known, incidents, use = draft.parts(*key, run)
        history = JobHistory(
            job=known,
            incidents=incidents,
            use=use,
            owner=owner,
            person=self._person(owner),
            is_trusted=agrees(known.user, owner, self._key),
        )
        if draft.is_headless and draft.job is None:
            self._tell(draft.paths, history, "without the line of the job itself")
        return history

    def _tell(self, paths: str, history: JobHistory, what: str) -> None:
        self._problems.add(f"{paths} ({history.owner}): job {history.job.job}, {what}")


def _put(mine: ByOwner, name: tuple[str, str], draft: Draft) -> None:
    if name in mine:
        mine[name].merge(draft)
    else:
        mine[name] = draft
