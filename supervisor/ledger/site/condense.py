"""One job's lines without those that later ones have replaced, under the name of their owner. Pure."""

from collections.abc import Iterable

from supervisor.ledger.site.lines import Line, SiteOwner
from supervisor.ledger.site.users import agrees, is_pseudonym
from supervisor.model.ids import IncidentNo, JobId
from supervisor.model.site import SiteIncident, SiteJob, SiteUse


def condensed(lines: Iterable[Line]) -> list[SiteJob | SiteIncident | SiteUse]:
    """Of each interruption its last line, of each start of a job the last word on its use, in their order."""
    kept: dict[tuple[JobId, str, str, float | IncidentNo], SiteJob | SiteIncident | SiteUse] = {}
    began_at = 0.0
    for line in lines:
        match line:
            case SiteJob():
                began_at = line.at
                kept[line.job, line.run, "job", began_at] = line
            case SiteIncident():
                kept[line.job, line.run, "incident", line.incident] = line
            case SiteUse():
                kept[line.job, line.run, "use", began_at] = line
            case SiteOwner():  # only the ledger's owner may say that, and here he does not
                pass
    return list(kept.values())


def owner_line(lines: Iterable[SiteJob | SiteIncident | SiteUse], owner: str, key: bytes) -> SiteOwner:
    """Whose lines follow: the file's owner, no plainer than its own record names him where he may be that."""
    users = {line.user for line in lines if isinstance(line, SiteJob)}
    user = users.pop() if len(users) == 1 else owner
    is_hidden = user == "" or (is_pseudonym(user) and agrees(user, owner, key))
    return SiteOwner(owner=user if is_hidden else owner)
