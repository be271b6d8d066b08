"""`supervise unexclude RUN NODE...`: let a run use nodes again that a person or a verdict has excluded."""

import click

from supervisor.cli.node_order import order_about


@click.command(
    name="unexclude",
    help=(
        "Let a running job use nodes again that a person or a verdict has excluded: supervise unexclude 81234 node017. "
        "A node that is silent or has left the job comes back in another job only."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("run")
@click.argument("nodes", nargs=-1, required=True)
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, run: str, nodes: tuple[str, ...]) -> None:
    """Order it."""
    order_about(ctx, "unexclude", run, nodes, as_json=as_json)
