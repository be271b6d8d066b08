"""What `supervise nodes`, `node` and `ticket` share: their options, and what they read."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from supervisor.cli.moment import Moment
from supervisor.cli.node_records import NodeFiles
from supervisor.cli.report_source import history_from_runs, history_from_sacct, set_ledger
from supervisor.errors import UsageError
from supervisor.ledger.site.history import SiteHistory
from supervisor.model.node import NodeRecord
from supervisor.redact.text import redacted
from supervisor.report.fleet.model import Source
from supervisor.report.nodes.make import nodes_report
from supervisor.report.nodes.marks import newest
from supervisor.report.nodes.model import Look, NodesReport, Standing
from supervisor.report.nodes.names import is_node, word
from supervisor.report.words import count

_WINDOW_S: Final = 14 * 86_400.0
"""Older incidents say little of the node as it is: parts, drivers and cables change."""
_CLOCKS_APART_S: Final = 300.0
"""The clocks of nodes may be so far ahead of this machine's."""
_PROBLEMS_TOLD: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options."""

    ledger: Path | None
    source: Source | None
    since: float | None
    cluster: str | None
    records: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was read, and what it comes to."""

    report: NodesReport
    records: tuple[NodeRecord, ...]
    look: Look
    source: Source
    cluster: str = ""
    """Whose nodes they are; empty where no job tells it."""

    def node(self, name: str) -> Standing | None:
        """Of this node; None: nothing is known of it."""
        return next((each for each in self.report.nodes if each.node == name), None)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that the three commands have in common."""
    for option in (
        click.option("--records", type=click.Path(path_type=Path), metavar="PATH", help=_RECORDS_HELP),
        click.option("--cluster", metavar="NAME", help="needed where the ledger knows several"),
        click.option("--since", type=Moment(), metavar="14d|12h|DATE", help="leave out what is older; default 14d"),
        click.option(
            "--from", "source", type=click.Choice(["ledger", "sacct", "runs"]), help="the ledger, accounting, own runs"
        ),
        click.option(
            "--ledger", type=click.Path(path_type=Path), metavar="FOLDER", help="another ledger than the settings'"
        ),
    ):
        command = option(command)
    return command


_RECORDS_HELP: Final = "the hooks' records, a file or a folder; default this node's own and those in <ledger>/.nodes"


def look_at_nodes(ctx: click.Context, given: dict[str, Any]) -> Seen:
    """Reads what was asked for; what was left out is told on stderr. Raises what the sources raise."""
    asked = Asked(**given)
    asked = replace(asked, ledger=asked.ledger or set_ledger(ctx))
    now = time.time()
    since, until = (now - _WINDOW_S if asked.since is None else asked.since), now + _CLOCKS_APART_S
    if since >= now:
        raise UsageError("--since must be in the past")
    source: Source = asked.source or ("ledger" if asked.ledger else "runs")
    history = _history(asked, source, since, until)
    files = NodeFiles(asked.ledger)
    records = tuple(files.records(asked.records))
    look = Look(since=since, until=until, returned=newest(files.marks(), until))
    report = replace(nodes_report(history, records, look, redacted), until=now)
    _tell([*history.problems, *files.problems], report.untrusted)
    cluster = asked.cluster or next(iter(_clusters(history)), "")
    return Seen(report=report, records=records, look=look, source=source, cluster=cluster)


def _history(asked: Asked, source: Source, since: float, until: float) -> SiteHistory:
    clusters = None if asked.cluster is None else (asked.cluster,)
    if source == "sacct":
        history = history_from_sacct(since, until, clusters)
    elif source == "runs":
        history = history_from_runs(clusters)
    else:
        history = _from_ledger(asked.ledger, since, until, clusters)
    if len(known := _clusters(history)) > 1:
        # Two clusters may call different nodes the same, and their nodes are not alike.
        raise UsageError(f"{count(len(known), 'cluster')} are known: --cluster {' or '.join(map(word, known))}")
    return history


def _clusters(history: SiteHistory) -> list[str]:
    return sorted({job.job.cluster for job in history.jobs} | {failure.cluster for failure in history.unseen})


def _from_ledger(ledger: Path | None, since: float, until: float, clusters: Sequence[str] | None) -> SiteHistory:
    from supervisor.ledger.site.read import read_site  # the other sources do without it

    if ledger is None:
        raise UsageError("no ledger is set: --ledger FOLDER, or set ledger in /etc/supervise/config.toml")
    return read_site(ledger, since, until, clusters)


def _tell(problems: Sequence[str], untrusted: int) -> None:
    if untrusted:
        print(f"supervise: {count(untrusted, 'job')} in the name of another user: counted in nothing", file=sys.stderr)
    for problem in problems[:_PROBLEMS_TOLD]:
        print(f"supervise: {''.join(char if char.isprintable() else '?' for char in problem)}", file=sys.stderr)
    if len(problems) > _PROBLEMS_TOLD:
        print(f"supervise: and {count(len(problems) - _PROBLEMS_TOLD, 'problem')} more", file=sys.stderr)


def node_name(name: str) -> str:
    """As it was typed, if Slurm could call a node so. Raises `UsageError`."""
    if not is_node(name):
        raise UsageError(f"{word(name)!r} is no name of a node")
    return name


def not_found(name: str, seen: Seen) -> str:
    """What to say where nothing is known of a node."""
    days = (seen.report.until - seen.report.since) / 86_400
    return f"nothing is known of {name} in {days:.0f} d: no job with supervise ran on it, and no hook wrote of it"
