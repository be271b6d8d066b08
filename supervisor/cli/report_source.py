"""Where `supervise report` takes its jobs from: a ledger, Slurm's accounting, or the run folders known here."""

import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final, Literal

import click

from supervisor.errors import UsageError
from supervisor.ledger.site.history import SiteHistory
from supervisor.report.fleet.classes import BY
from supervisor.report.fleet.make import report, report_of
from supervisor.report.fleet.model import FleetReport, Source
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import DAY_S, WEEK_DAYS, Asked

Names = Literal["name", "pseudonym", "none"]
DEFAULT_SACCT_S: Final = WEEK_DAYS * DAY_S
"""Accounting is not asked for all that it ever kept unless somebody names a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for, resolved."""

    source: Source
    ledger: Path | None
    """The folder; its key makes pseudonyms, whatever the source is."""
    asked: Asked
    users: Names
    clusters: Collection[str] | None = None
    by: Collection[str] = BY
    """Which histograms are shown."""


def report_from(wanted: Wanted) -> FleetReport:
    """The report. Raises what the source raises: `UsageError`, `SlurmFailed`, `NoSlurm`."""
    name_of = _naming(wanted)
    if wanted.source == "ledger":
        return _from_ledger(wanted, name_of)
    if wanted.source == "sacct":
        return _from_sacct(wanted, name_of)
    return _from_runs(wanted, name_of)


def _from_ledger(wanted: Wanted, name_of: Callable[[str], str]) -> FleetReport:
    from supervisor.ledger.site.in_parts import fold_site  # each source loads what it needs alone
    from supervisor.ledger.site.walk import Window

    if wanted.ledger is None:
        raise UsageError("no ledger is set: --ledger FOLDER, or set ledger in /etc/supervise/config.toml")
    asked = wanted.asked
    window = Window(since=asked.read_since, until=asked.until, clusters=wanted.clusters)
    tally, problems = fold_site(wanted.ledger, partial(Tally, asked), window)
    return report(tally, source="ledger", place=str(wanted.ledger), name_of=name_of, problems=problems, by=wanted.by)


def _from_sacct(wanted: Wanted, name_of: Callable[[str], str]) -> FleetReport:
    asked = wanted.asked
    # Not what was before: five weeks of a busy site for a trend alone would keep slurmdbd busy for minutes.
    since = asked.until - DEFAULT_SACCT_S if asked.since is None else asked.since
    history = history_from_sacct(since, asked.until, wanted.clusters)
    return report_of(history, asked, source="sacct", place="Slurm's accounting", name_of=name_of)


def _from_runs(wanted: Wanted, name_of: Callable[[str], str]) -> FleetReport:
    history = history_from_runs(wanted.clusters)
    return report_of(history, wanted.asked, source="runs", place="the runs known here", name_of=name_of)


def history_from_sacct(since: float, until: float, clusters: Collection[str] | None) -> SiteHistory:
    """What Slurm's accounting tells of all users' jobs of this time."""
    import asyncio  # each source loads what it needs alone

    from supervisor.ledger.site.from_sacct import from_sacct
    from supervisor.slurm.accounting import ACCOUNTING_DEADLINE_S, read_accounts

    if sys.stderr.isatty():  # a busy database takes minutes, and who waits wants to know for what
        days = round((until - since) / DAY_S, 1)
        words = f"asking Slurm's accounting for {days:g} days of all users' jobs, at most {ACCOUNTING_DEADLINE_S:.0f} s"
        print(f"supervise: {words}", file=sys.stderr, flush=True)
    return from_sacct(asyncio.run(read_accounts(since, until, all_users=True, clusters=tuple(clusters or ()))))


def history_from_runs(clusters: Collection[str] | None) -> SiteHistory:
    """What the run folders tell that are known here."""
    from supervisor.cli.known_runs import known_runs  # as above
    from supervisor.ledger.site.from_runs import KnownRun, from_runs

    return from_runs(
        KnownRun(
            run=view.run.run_id,
            created_at=view.run.created_at,
            cluster=view.cluster,
            jobs=view.jobs,
            status=view.status,
            records=view.records,
        )
        for view in known_runs()
        if clusters is None or view.cluster in clusters
    )


def set_ledger(ctx: click.Context) -> Path | None:
    """The folder that the settings name."""
    from supervisor.settings_resolve import from_environment, from_files, from_options, resolve  # not for --ledger

    given = getattr(ctx.obj, "settings", {})
    named = resolve([*from_files(os.environ), *from_environment(os.environ), *from_options(given)]).settings.ledger
    return Path(named) if named else None


def _naming(wanted: Wanted) -> Callable[[str], str]:
    """How the report calls users. One that the ledger knows by a pseudonym alone keeps it."""
    if wanted.users == "name":
        return str
    if wanted.users == "none":
        return lambda _: ""
    from supervisor.ledger.site.answering import must_answer  # as above
    from supervisor.ledger.site.users import is_pseudonym, pseudonym, read_key

    if wanted.ledger is not None:
        must_answer(wanted.ledger)
    key = read_key(wanted.ledger) if wanted.ledger is not None else b""
    if not key:
        raise UsageError(
            "pseudonyms need the ledger's key, which the ledger's owner and his group can read: "
            "--ledger FOLDER as one of them, or --users none"
        )

    @cache
    def called(user: str) -> str:
        return user if not user or is_pseudonym(user) else pseudonym(user, key)

    return called
