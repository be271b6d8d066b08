"""`supervise mode act|observe RUN`: whether interruptions of a running job are acted upon."""

from typing import Literal

import click

from supervisor.cli.ordering import give
from supervisor.model.order import PersonOrder


@click.command(
    name="mode",
    help=(
        "Change whether interruptions of a running job are acted upon: supervise mode observe 81234. observe: watch, "
        "explain and record, but stop, restart and submit nothing. It holds for the run's later jobs too."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("mode", type=click.Choice(["act", "observe"]))
@click.argument("run")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, mode: Literal["act", "observe"], run: str) -> None:
    """Order it."""
    give(ctx, run, lambda number, at, by: PersonOrder(id=number, at=at, by=by, what="mode", mode=mode), as_json=as_json)
