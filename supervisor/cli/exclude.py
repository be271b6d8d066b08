"""`supervise exclude RUN NODE...`: keep nodes out of a run: its next attempt and its later jobs do without them."""

import click

from supervisor.cli.node_order import order_about


@click.command(
    name="exclude",
    help=(
        "Keep nodes out of a running job: supervise exclude 81234 node[017,019]. The present attempt goes on with "
        "them; the next one does without, and so does another job of the run."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("run")
@click.argument("nodes", nargs=-1, required=True)
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, run: str, nodes: tuple[str, ...]) -> None:
    """Order it."""
    order_about(ctx, "exclude", run, nodes, as_json=as_json)
