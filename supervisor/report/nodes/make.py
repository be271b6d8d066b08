"""The report on all nodes. Pure."""

from collections.abc import Callable, Sequence

from supervisor.ledger.site.history import SiteHistory
from supervisor.model.node import NodeRecord
from supervisor.report.nodes.model import Look, NodesReport, Standing
from supervisor.report.nodes.suggest import suggestions
from supervisor.report.nodes.suspicion import Known, standings
from supervisor.report.words import count, names

_DAY_S = 86_400.0


def nodes_report(
    history: SiteHistory, records: Sequence[NodeRecord], look: Look, redact: Callable[[str], str]
) -> NodesReport:
    """Everything that `supervise nodes` says. Jobs in the name of another user count in nothing.

    `redact` takes secrets out of what all users of Slurm will read.
    """
    believed = [job for job in history.jobs if job.is_trusted]
    found = standings(Known(jobs=believed, unseen=history.unseen, records=records), look)
    looks = sum(each.numbers.is_tested for each in found)
    suggested, held_back = suggestions(found, looks, (look.until - look.since) / _DAY_S, redact)
    return NodesReport(
        since=look.since,
        until=look.until,
        conclusion=_conclusion(found, looks),
        blockers=tuple(f"{each.node}: {'; '.join(each.why)}" for each in found if each.level == "suspect"),
        looks=looks,
        jobs=len(believed),
        incidents=sum(each.numbers.incidents for each in found),
        node_h=sum(each.numbers.exposure_h for each in found),
        nodes=found,
        suggestions=suggested,
        held_back=held_back,
        untrusted=len(history.jobs) - len(believed),
    )


def _conclusion(found: Sequence[Standing], looks: int) -> str:
    """The first line: decidable."""
    if not found:
        return "Nothing is known of any node: no job and no hook's record in this time."
    suspects = [each.node for each in found if each.level == "suspect"]
    number = len(suspects)
    said = f"{number or 'None'} of {count(len(found), 'node')} {'is' if number <= 1 else 'are'} suspect"
    return f"{said} (corrected for {count(looks, 'look')}){f': {names(suspects)}' if suspects else ''}."
