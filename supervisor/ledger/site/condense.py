"""One job's lines without those that later ones have replaced, under the name of their owner. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from supervisor.ledger.site.lines import Line, SiteOwner
from supervisor.ledger.site.names import is_file_of
from supervisor.ledger.site.users import agrees, is_pseudonym, nameless
from supervisor.model.ids import IncidentNo, JobId
from supervisor.model.site import SiteIncident, SiteJob, SiteUse


@dataclass(frozen=True, slots=True)
class Names:
    """What hides who wrote."""

    key: bytes
    """The ledger's, for pseudonyms; empty: it cannot be read."""
    salt: bytes
    """For those who have none; thrown away, so that nobody finds out later who they are."""


def condensed(lines: Iterable[Line], name: str | None) -> list[SiteJob | SiteIncident | SiteUse]:
    """Of each interruption its last line, of each start of a job the last word on its use, in their order.

    `name`: of a user's file, which may begin no other job (in the file of a month nobody could tell any more); None: it
    is the ledger's owner's.
    """
    kept: dict[tuple[JobId, str, str, float | IncidentNo], SiteJob | SiteIncident | SiteUse] = {}
    began_at = 0.0
    for line in lines:
        match line:
            case SiteJob() if name is None or is_file_of(name, line.job, line.run):
                began_at = line.at
                kept[line.job, line.run, "job", began_at] = line
            case SiteIncident():
                kept[line.job, line.run, "incident", line.incident] = line
            case SiteUse():
                kept[line.job, line.run, "use", began_at] = line
            case SiteJob() | SiteOwner():  # only the ledger's owner may say whose lines follow, and here he does not
                pass
    return list(kept.values())


def owner_line(lines: Iterable[SiteJob | SiteIncident | SiteUse], owner: str, names: Names) -> SiteOwner:
    """Whose lines follow: the file's owner, no plainer than its own record names him where he may be that.

    Nobody's lines stay apart from those of others who are nobody: one could add to another's record else.
    """
    users = {line.user for line in lines if isinstance(line, SiteJob)}
    user = users.pop() if len(users) == 1 else owner if users else ""
    if not user:
        return SiteOwner(owner=nameless(owner, names.salt))
    return SiteOwner(owner=user if is_pseudonym(user) and agrees(user, owner, names.key) else owner)
