"""`supervise resume RUN`: take back a halt that has not begun."""

import click

from supervisor.cli.ordering import give
from supervisor.model.order import PersonOrder


@click.command(
    name="resume",
    help=(
        "Take back a halt that waits for its checkpoint or its time: supervise resume 81234. A run that is over goes "
        "on from its newest checkpoint when it is submitted again."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("run")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, run: str) -> None:
    """Order it."""
    give(ctx, run, lambda number, at, by: PersonOrder(id=number, at=at, by=by, what="resume"), as_json=as_json)
