"""The whole report, from sums or from histories. Pure."""

from collections.abc import Callable, Sequence

from supervisor.ledger.site.history import SiteHistory, UnseenFailure
from supervisor.model.verdict import Class
from supervisor.report.fleet.classes import classes, groups, total_loss
from supervisor.report.fleet.conclusion import conclude, look_first
from supervisor.report.fleet.ettr import ettr
from supervisor.report.fleet.handled import share, waiting
from supervisor.report.fleet.interruption import interruption
from supervisor.report.fleet.model import FleetReport, Source
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
) -> FleetReport:
    """Of sums. `name_of`: how a user is called in it."""
    of_class, by, loss = classes(tally), groups(tally, name_of), total_loss(tally)
    number, handled = loss.interruptions, loss.interruptions - loss.by_person
    unknown = next(row.interruptions for row in of_class if row.name == Class.UNKNOWN)
    first, waits = look_first(by[0]), waiting(tally, name_of)
    effective = ettr(tally, name_of, is_at_most=source != "ledger")
    said = conclude(
        source=source,
        scope=_scope(tally, source),
        interruptions=number,
        handled=handled,
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
        since=tally.asked.since,
        until=tally.asked.until,
        is_ok=said.is_ok,
        conclusion=said.text,
        blockers=said.blockers,
        look_first=first,
        interruptions=number,
        planned=tally.planned,
        jobs=tally.jobs,
        runs=len(tally.runs),
        handled=handled,
        handled_share=share(handled, number),
        unknown=unknown,
        unknown_share=share(unknown, number),
        cost=loss.cost(is_energy_known=bool(tally.measured_jobs)),
        classes=of_class,
        groups=by,
        mtbi=all_jobs,
        mtbi_by_size=by_size,
        ettr=effective,
        speed=speed(tally.times),
        profile=profile(tally),
        waiting=waits,
        unseen=unseen(failures, tally.asked) if source == "sacct" else None,
        untrusted=tuple(sorted((name_of(owner), number) for owner, number in tally.untrusted.items())),
        rows=tuple(interruption(job, one, name_of) for job, one in tally.newest_rows()),
        problems=tuple(problems),
    )


def _scope(tally: Tally, source: Source) -> str:
    if not tally.jobs:
        return ""
    return many(len(tally.runs), "run") if source == "runs" else many(tally.jobs, "job")
