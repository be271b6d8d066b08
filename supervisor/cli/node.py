"""`supervise node NAME`: what is known of one node, and what to type. Exits with 4 where nothing is known of it."""

import sys
from typing import Any

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.node_records import FOLDER, NodeFiles
from supervisor.cli.node_source import look_at_nodes, node_name, not_found, options
from supervisor.cli.report_source import set_ledger
from supervisor.errors import UsageError
from supervisor.report.nodes.text import node_text


@click.command(
    name="node",
    help=(
        "What is known of one node: its incidents beside what chance would bring, its hooks' records, its timeline, "
        "and the command that would drain it: supervise node gpu017. Drains nothing."
    ),
)
@click.argument("name")
@options
@click.option("--returned", "is_returned", is_flag=True, help="write down that it was repaired: older signs are void")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.pass_context
def command(ctx: click.Context, /, *, name: str, is_returned: bool, as_json: bool, **given: Any) -> None:
    """Tell it, or write the mark."""
    name = node_name(name)
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    if is_returned:
        told = _marked(ctx, name, given)
        print(json_answer(conclusion=told, cluster=given["cluster"] or "") if as_json else told)
        return
    seen = look_at_nodes(ctx, given)
    report, standing = seen.report, seen.node(name)
    if standing is None:
        print(f"supervise: {not_found(name, seen)}", file=sys.stderr)
        ctx.exit(ExitCode.NOT_FOUND)
    text = node_text(standing, report, now=report.until)
    if not as_json:
        sys.stdout.write(f"{text}\n")
        return
    more: dict[str, Any] = {
        "source": seen.source,
        "since": report.since,
        "until": report.until,
        "looks": report.looks,
        "node": standing,
        "suggestions": [each for each in report.suggestions if each.node == name],
    }
    conclusion = text.partition("\n")[0]
    answer = json_answer(conclusion=conclusion, blockers=standing.why, cluster=seen.cluster, **more)
    sys.stdout.write(f"{answer}\n")


def _marked(ctx: click.Context, name: str, given: dict[str, Any]) -> str:
    """What was done. Raises `UsageError` where it cannot be."""
    ledger = given["ledger"] or set_ledger(ctx)
    if ledger is None or not ledger.is_dir():
        raise UsageError("the mark is kept in the site's ledger, and there is none: --ledger FOLDER")
    if getattr(ctx.obj, "dry_run", False):
        return f"would be marked as returned in {ledger / FOLDER}: {name}"
    return f"{name} is marked as returned in {NodeFiles(ledger).mark(name)}: what was before counts no more"
