"""`supervise report`: what interrupts the jobs of a site, or a user's own runs, on which nodes, and what it costs.

The exit code is 0 whatever the report says, since it was made; other codes mean that there is none.
"""

import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
import msgspec

from supervisor.cli.answer import REDACT_HELP
from supervisor.cli.moment import Moment
from supervisor.cli.report_source import DEFAULT_SACCT_S, Names, Wanted, report_from, set_ledger
from supervisor.errors import UsageError
from supervisor.report.fleet.classes import BY
from supervisor.report.fleet.model import FleetReport, Source
from supervisor.report.fleet.window import Asked
from supervisor.report.words import count

_PROBLEMS_TOLD: Final = 5
_CLOCKS_APART_S: Final = 300.0
"""The clocks of nodes may be so far ahead of this machine's."""
_ROWS: Final = 20
_ROWS_OF_PAGE: Final = 20_000
"""Its strips of nodes and weeks are made from them."""


@click.command(
    name="report",
    help=(
        "What interrupts jobs, on which nodes, and what it costs: supervise report --since 7d. Of the site's ledger "
        "where one is set, else of the runs that are known here. Exits with 0 for OK and NOT OK alike."
    ),
)
@click.option("--ledger", type=click.Path(path_type=Path), metavar="FOLDER", help="another ledger than the settings'")
@click.option(
    "--from", "source", type=click.Choice(["ledger", "sacct", "runs"]), help="the ledger, Slurm's accounting, own runs"
)
@click.option("--since", type=Moment(), metavar="7d|12h|90m|DATE", help="leave out what is older; sacct: default 7d")
@click.option("--until", type=Moment(), metavar="7d|12h|90m|DATE", help="leave out what is newer; default now")
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="of this cluster alone; may be repeated")
@click.option("--by", type=click.Choice(BY), help="a further histogram; days are UTC")
@click.option(
    "--users",
    type=click.Choice(["name", "pseudonym", "none"]),
    default="name",
    help="how users are named; default name",
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object, with the newest interruptions")
@click.option("--csv", "as_csv", is_flag=True, help="all interruptions, a row each")
@click.option("--html", "as_html", is_flag=True, help="one page that needs no other file")
@click.option(
    "--evidence",
    type=click.Path(path_type=Path),
    metavar="FILE.tar.gz",
    help="write figures, page and proof there, too",
)
@click.option("--redact", is_flag=True, help=REDACT_HELP)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    ledger: Path | None,
    source: Source | None,
    since: float | None,
    until: float | None,
    clusters: tuple[str, ...],
    by: str | None,
    users: Names,
    as_json: bool,
    as_csv: bool,
    as_html: bool,
    evidence: Path | None,
    redact: bool,
) -> None:
    """Tell it."""
    forms = {"json": as_json or bool(getattr(ctx.obj, "json", False)), "csv": as_csv, "html": as_html}
    form = _one_of(forms)
    if by == "user" and users == "none":
        raise UsageError("--by user and --users none exclude each other")
    wanted = _wanted(ctx, ledger, source, clusters, users, _asked(since, until, form, is_proven=evidence is not None))
    if form == "text" and evidence is None:
        wanted = replace(wanted, by=(by,) if by else ())
    report = report_from(wanted)
    _tell_problems(report, users)
    report = report if users == "name" else _without_owners(report)
    report = _redacted(report) if redact else report
    if evidence is not None:
        from supervisor.cli.report_evidence import save  # seldom asked for, and it loads all forms

        save(evidence, report, wanted)
        report = report if form in {"csv", "html"} else replace(report, rows=report.rows[-_ROWS:])
    answer = _answer(report, wanted, form, by or "")
    sys.stdout.write(answer if answer.endswith("\n") else f"{answer}\n")


def _one_of(forms: dict[str, bool]) -> str:
    """The one that was asked for; text where none was."""
    given = [name for name, is_given in forms.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"--{' and --'.join(given)} exclude each other")
    return given[0] if given else "text"


def _redacted(report: FleetReport) -> FleetReport:
    """Every text of it. A form made from it is not gone over: the digest of a page's style looks like a key."""
    from supervisor.redact.text import redacted_in  # as in `without_secrets`

    return msgspec.convert(redacted_in(msgspec.to_builtins(report)), FleetReport)


def _without_owners(report: FleetReport) -> FleetReport:
    """Whose files were left out is said by name alone."""
    files = sum(number for _, number in report.untrusted)
    return replace(report, problems=(), untrusted=(("", files),) if files else ())


def _asked(since: float | None, until: float | None, form: str, *, is_proven: bool) -> Asked:
    """In whole seconds: such times can be written down and asked for again."""
    end = float(math.ceil(time.time() + _CLOCKS_APART_S if until is None else until))
    since = None if since is None else float(math.floor(since))
    if since is not None and since >= end:
        raise UsageError("--since must be before --until, which is now unless it is given")
    many = _ROWS_OF_PAGE if form == "html" or is_proven else _ROWS
    return Asked(since=since, until=end, rows=None if form == "csv" else many)


def _wanted(
    ctx: click.Context,
    ledger: Path | None,
    source: Source | None,
    clusters: tuple[str, ...],
    users: Names,
    asked: Asked,
) -> Wanted:
    place = ledger or set_ledger(ctx)
    source = source or ("ledger" if place else "runs")
    if source == "sacct" and asked.since is None:
        asked = replace(asked, since=asked.until - DEFAULT_SACCT_S)
    return Wanted(source=source, ledger=place, asked=asked, users=users, clusters=clusters or None)


def _tell_problems(report: FleetReport, users: Names) -> None:
    """What was left out is no part of the answer, and not kept quiet either. It names owners of files."""
    if report.untrusted:
        files = sum(number for _, number in report.untrusted)
        whose = f" (written by {', '.join(owner for owner, _ in report.untrusted)})" if users == "name" else ""
        print(
            f"supervise: {count(files, 'job')} in the name of another user{whose}: counted in nothing", file=sys.stderr
        )
    if not report.problems:
        return
    print(f"supervise: {count(len(report.problems), 'problem')} in {report.place}", file=sys.stderr)
    if users != "name":
        return
    for problem in report.problems[:_PROBLEMS_TOLD]:
        print(f"supervise:   {problem}", file=sys.stderr)
    if len(report.problems) > _PROBLEMS_TOLD:
        print(f"supervise:   and {len(report.problems) - _PROBLEMS_TOLD} more: --json has all", file=sys.stderr)


def _answer(report: FleetReport, wanted: Wanted, form: str, by: str) -> str:
    """In the form that was asked for; each is loaded for itself."""
    if form == "json":
        from supervisor.cli.report_answer import report_json

        return report_json(report, wanted)
    if form == "csv":
        from supervisor.report.fleet.as_csv import as_csv

        return as_csv(report)
    if form == "html":
        from supervisor.report.html.page import page

        return page(report)
    from supervisor.report.fleet.text import Style, text

    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return text(report, Style(now=time.time(), colour=is_coloured, by=by))
