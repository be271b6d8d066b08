"""The whole report, from sums or from histories. Pure."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from supervisor.ledger.site.history import SiteHistory, UnseenFailure
from supervisor.model.verdict import Class
from supervisor.report.fleet.classes import BY, classes, groups, total_loss
from supervisor.report.fleet.conclusion import conclude, look_first
from supervisor.report.fleet.ettr import ettr
from supervisor.report.fleet.handled import waiting
from supervisor.report.fleet.interruption import interruption
from supervisor.report.fleet.model import FleetReport, Row, Source
from supervisor.report.fleet.mtbi import rates
from supervisor.report.fleet.profile import profile
from supervisor.report.fleet.speed import speed
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.unseen import unseen
from supervisor.report.fleet.window import Asked
from supervisor.report.fleet.wording import many


def _plain(user: str) -> str:
    return user


def report_of(
    history: SiteHistory,
    asked: Asked,
    *,
    source: Source,
    place: str = "",
    name_of: Callable[[str], str] = _plain,
) -> FleetReport:
    """Of histories that are all at hand."""
    tally = Tally(asked).add_all(history.jobs)
    return report(
        tally, source=source, place=place, name_of=name_of, failures=history.unseen, problems=history.problems
    )


def report(
    tally: Tally,
    *,
    source: Source,
    place: str = "",
    name_of: Callable[[str], str] = _plain,
    failures: Sequence[UnseenFailure] = (),
    problems: Sequence[str] = (),
    by: Collection[str] = BY,
) -> FleetReport:
    """Of sums. `name_of`: how a user is called in it; `by`: what it has further histograms of."""
    asked, of_class, waits = tally.asked, classes(tally), waiting(tally, name_of)
    count, first = _Count.of(tally, of_class), look_first(tally.sums)
    # Accounting is not asked for what was before the report's own time.
    read_since = asked.since if source == "sacct" else asked.read_since
    effective = ettr(tally, name_of, is_at_most=source != "ledger", read_since=read_since)
    said = conclude(
        source=source,
        scope=_scope(tally, source),
        interruptions=count.all,
        handled=count.handled,
        not_over=tally.not_over,
        jobs=tally.jobs,
        untrusted=tally.untrusted.total(),
        ettr=effective,
        waiting=waits,
        classes=of_class,
        look_first=first,
    )
    all_jobs, by_size = rates(tally.held)
    return FleetReport(
        source=source,
        place=place,
        clusters=tuple(sorted({cluster for cluster, _, _ in tally.runs})),
        since=asked.since,
        until=asked.until,
        is_ok=said.is_ok,
        conclusion=said.text,
        blockers=said.blockers,
        look_first=first,
        interruptions=count.all,
        planned=tally.planned,
        jobs=tally.jobs,
        runs=len(tally.runs),
        handled=count.handled,
        not_over=tally.not_over,
        handled_share=_share(count.handled, count.over),
        unknown=count.unknown,
        unknown_share=_share(count.unknown, count.all),
        cost=total_loss(tally).cost(is_energy_known=bool(tally.measured_jobs)),
        classes=of_class,
        groups=groups(tally, name_of, by),
        mtbi=all_jobs,
        mtbi_by_size=by_size,
        ettr=effective,
        speed=speed(tally.times),
        profile=profile(tally),
        waiting=waits,
        unseen=unseen(failures, asked) if source == "sacct" else None,
        untrusted=tuple(sorted((name_of(owner), number) for owner, number in tally.untrusted.items())),
        rows=tuple(interruption(job, one, name_of) for job, one in tally.newest.rows()),
        problems=tuple(problems),
    )


@dataclass(frozen=True, slots=True)
class _Count:
    """Interruptions, and what became of them."""

    all: int
    over: int
    handled: int
    unknown: int

    @classmethod
    def of(cls, tally: Tally, of_class: Sequence[Row]) -> "_Count":
        loss = total_loss(tally)
        over = loss.interruptions - tally.not_over
        unknown = next(row.interruptions for row in of_class if row.name == Class.UNKNOWN)
        return cls(all=loss.interruptions, over=over, handled=over - loss.by_person, unknown=unknown)


def _share(part: int, whole: int) -> float | None:
    """None where there is nothing to have a share of."""
    return part / whole if whole else None


def _scope(tally: Tally, source: Source) -> str:
    if not tally.jobs:
        return ""
    return many(len(tally.runs), "run") if source == "runs" else many(tally.jobs, "job")
