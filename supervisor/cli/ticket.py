"""`supervise ticket NODE`: the text of a ticket for the vendor. Exits with 4 where nothing is known of the node."""

import sys
from typing import Any

import click

from supervisor.cli.answer import REDACT_HELP, json_answer, without_secrets
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.node_source import look_at_nodes, node_name, not_found, options
from supervisor.report.nodes.telemetry import by_node
from supervisor.report.nodes.text import utc
from supervisor.report.nodes.ticket import ticket_text
from supervisor.version import VERSION


@click.command(
    name="ticket",
    help=(
        "Text for the vendor of a node: devices, Xids, memory errors, timeline, what was ruled out; no users, jobs or "
        "log text: supervise ticket gpu017 > rma.txt"
    ),
)
@click.argument("node")
@options
@click.option("--redact/--no-redact", "redact", default=True, help=f"{REDACT_HELP}; on unless --no-redact")
@click.option("--json", "as_json", is_flag=True, help="one JSON object, with the text in it")
@click.pass_context
def command(ctx: click.Context, /, *, node: str, redact: bool, as_json: bool, **given: Any) -> None:
    """Write it."""
    name = node_name(node)
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    seen = look_at_nodes(ctx, given)
    report, standing = seen.report, seen.node(name)
    if standing is None:
        print(f"supervise: {not_found(name, seen)}", file=sys.stderr)
        ctx.exit(ExitCode.NOT_FOUND)
    records = by_node(seen.records, seen.look).get(name, ())
    typed = [f"supervise ticket {name} --from {seen.source} --since {utc(report.since)}"]
    text = ticket_text(standing, report, records, version=VERSION, commands=typed)
    if as_json:
        head = text.partition("\n")[0]
        text = json_answer(conclusion=head, blockers=standing.why, cluster=seen.cluster, node=name, ticket=text)
    sys.stdout.write(f"{without_secrets(text, as_json=as_json) if redact else text}\n")
