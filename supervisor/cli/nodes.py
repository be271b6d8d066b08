"""`supervise nodes`: which nodes interrupt jobs more than chance explains. The exit code is 0 whatever it says."""

import sys
from dataclasses import replace
from typing import Any

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.node_source import look_at_nodes, options
from supervisor.report.nodes.text import nodes_text


@click.command(
    name="nodes",
    help=(
        "Which nodes interrupt jobs more than chance explains, corrected for the number of nodes, and what Slurm's "
        "hooks say of them: supervise nodes --since 14d. Suggests drains, and drains nothing."
    ),
)
@options
@click.option("--all", "is_all", is_flag=True, help="nodes that are ok, too")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.pass_context
def command(ctx: click.Context, /, *, is_all: bool, as_json: bool, **given: Any) -> None:
    """Tell it."""
    seen = look_at_nodes(ctx, given)
    report = seen.report
    if not (as_json or bool(getattr(ctx.obj, "json", False))):
        sys.stdout.write(f"{nodes_text(report, is_all=is_all)}\n")
        return
    nodes = report.nodes if is_all else tuple(each for each in report.nodes if each.level != "ok")
    more: dict[str, Any] = {
        "source": seen.source,
        "since": report.since,
        "until": report.until,
        "known": len(report.nodes),
        "looks": report.looks,
        "jobs": report.jobs,
        "incidents": report.incidents,
        "node_h": report.node_h,
        "untrusted": report.untrusted,
        "nodes": [replace(each, timeline=()) for each in nodes],
        "suggestions": report.suggestions,
        "held_back": report.held_back,
    }
    answer = json_answer(conclusion=report.conclusion, blockers=report.blockers, cluster=seen.cluster, **more)
    sys.stdout.write(f"{answer}\n")
