"""`supervise halt RUN`: end a running job in good order: after its next checkpoint, at once, or before a time."""

import time

import click

from supervisor.cli.moment import Ahead
from supervisor.cli.ordering import give
from supervisor.errors import UsageError
from supervisor.model.order import PersonOrder


@click.command(
    name="halt",
    help=(
        "End a running job in good order: supervise halt 81234. Its ranks are asked to save (beat() returns True), and "
        "once a checkpoint newer than those of now is whole, the ranks are stopped, the nodes are free, and nothing is "
        "started again. --now stops at once; --before TIME does by then, checkpoint or not. supervise resume takes a "
        "halt back that has not begun."
    ),
)
@click.option("--after-checkpoint", is_flag=True, help="once a newer checkpoint is whole; the default")
@click.option("--now", "is_now", is_flag=True, help="stop at once")
@click.option("--before", type=Ahead(), metavar="TIME", help="at the latest then: 30m, 2h, 18:00 or a date with a time")
@click.option("--why", default="", help="for the record and the job's output")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("run")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    after_checkpoint: bool,
    is_now: bool,
    before: float | None,
    why: str,
    as_json: bool,
    run: str,
) -> None:
    """Order it."""
    if is_now and (after_checkpoint or before is not None):
        raise UsageError("--now is at once: leave --after-checkpoint and --before away")
    if before is not None and before <= time.time():
        raise UsageError("--before: that time has passed; to stop at once: --now")

    def order(number: str, at: float, by: str) -> PersonOrder:
        return PersonOrder(id=number, at=at, by=by, what="halt", is_now=is_now, until=before, why=why[:200])

    give(ctx, run, order, as_json=as_json)
