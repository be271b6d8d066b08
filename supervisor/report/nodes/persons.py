"""Who is one user, though a ledger may call him by his name here and by a pseudonym there. Pure.

What nobody can prove to be two persons is one: a rule that wants a second user must never find him in the first.
"""

from collections.abc import Iterable

from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.users import is_nameless

NOBODY = ""
"""Whom nobody can name any more: months that are put together under `ledger_users = "none"`."""
RunKey = tuple[str, str, str]
"""Cluster, person and run: a run's own word is not unique, and another user may write the same."""


class Persons:
    """Everybody who has written one of these jobs.

    The owner of a file and the user that it names are one person. So whoever invents pseudonyms stays one, and a user
    whose older months hold his pseudonym alone is the one who owns the files of this month.
    """

    def __init__(self, jobs: Iterable[JobHistory]) -> None:
        self._other_name: dict[str, str] = {}
        for history in jobs:
            names = [name for name in (history.job.user, history.person) if name and name != history.owner]
            for name in names if history.owner and not is_nameless(history.owner) else ():
                self._are_one(name, history.owner)

    def of(self, history: JobHistory) -> str:
        """One word for each person; `NOBODY` where he is not known."""
        if history.owner and is_nameless(history.owner):
            return NOBODY
        return self._found(history.owner or history.job.user)

    def run(self, history: JobHistory) -> RunKey:
        """Which run the job belongs to."""
        return history.job.cluster, self.of(history), history.job.run

    def _are_one(self, name: str, other: str) -> None:
        # The smaller word stands for both, so that the order of the jobs makes no difference.
        least, most = sorted((self._found(name), self._found(other)))
        if least != most:
            self._other_name[most] = least

    def _found(self, name: str) -> str:
        found = name
        while found in self._other_name:
            found = self._other_name[found]
        while name != found:  # a user with a thousand invented names must not make everybody's way long
            self._other_name[name], name = found, self._other_name[name]
        return found
