"""What happened on one node, in time: incidents, hooks, failures that Slurm alone saw. Pure.

Classes, causes, rules and counters; no user, no job, no text of a log or of another program.
"""

from collections.abc import Iterable, Iterator, Sequence

from supervisor.ledger.site.history import UnseenFailure
from supervisor.model.node import NodeRecord
from supervisor.report.nodes.blame import Signs
from supervisor.report.nodes.model import Moment
from supervisor.report.nodes.names import word


def timeline(signs: Signs, records: Sequence[NodeRecord], unseen: Iterable[UnseenFailure]) -> tuple[Moment, ...]:
    """Oldest first. Of the hooks' records those that say something."""
    moments = [*_of_signs(signs), *(_of_record(record) for record in records if record.level != "ok")]
    moments += [Moment(at=one.at, kind="unseen", what=f"{word(one.state)} in Slurm's accounting") for one in unseen]
    return tuple(sorted(moments, key=lambda each: (each.at, each.kind, each.what, each.more)))


def _of_signs(signs: Signs) -> Iterator[Moment]:
    counted = frozenset(signs.counted)
    for sign in signs.all:
        yield Moment(
            at=sign.at,
            kind="incident",
            what=f"{sign.cls}/{sign.cause}",
            gpus=sign.gpus,
            action=sign.action,
            is_counted=sign in counted,
        )


def _of_record(record: NodeRecord) -> Moment:
    return Moment(
        at=record.at,
        kind="hook",
        what=f"{record.level}: {', '.join(_rules(record))}",
        gpus=(word(record.gpu),) if record.gpu else (),
        more="; ".join([*_xids(record), *_growth(record), *_gone(record)]),
    )


def _rules(record: NodeRecord) -> list[str]:
    """Those that fired, the worst first; of other checks their name alone."""
    return [word(finding.rule) for finding in record.findings] or [word(record.rule) or "no rule named"]


def _xids(record: NodeRecord) -> Iterator[str]:
    for seen in record.xids:
        where = f" at {word(seen.pci)}" if seen.pci else ""
        whose = f" ({word(seen.gpu)})" if seen.gpu else ""
        times = f", {seen.count} times" if seen.count > 1 else ""
        yield f"Xid {seen.xid}{where}{whose}{times}"


def _growth(record: NodeRecord) -> Iterator[str]:
    for gpu, counters in sorted(record.gpus.items()):
        grown = ", ".join(f"{word(name)} +{by}" for name, by in sorted(counters.items()))
        yield f"{word(gpu)}: {grown}"


def _gone(record: NodeRecord) -> Iterator[str]:
    for gpu in record.lost_gpus:
        yield f"{word(gpu)} is gone"
