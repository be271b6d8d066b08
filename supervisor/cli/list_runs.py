"""`supervise list`: the runs that are known here."""

import time
from typing import Final

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.known_runs import known_runs
from supervisor.cli.slurms_word import with_slurms_words
from supervisor.report.many_runs import list_conclusion, list_json, list_text, listed

_SHOWN: Final = 30


@click.command(
    name="list",
    help=f"The runs that are known here, the living first; without --all at most {_SHOWN}.",
)
@click.option("--all", "all_runs", is_flag=True, help="also those that ended long ago")
@click.option("--json", "as_json", is_flag=True, help="one JSON object, with all runs")
@click.pass_context
def command(ctx: click.Context, *, all_runs: bool, as_json: bool) -> None:
    """Tell it."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    now = time.time()
    runs = listed(with_slurms_words(known_runs()), now)
    if as_json:
        print(json_answer(conclusion=list_conclusion(runs), runs=list_json(runs)))
        return
    shown = runs if all_runs else runs[:_SHOWN]
    left = [f"and {len(runs) - len(shown)} more: supervise list --all"] if len(shown) < len(runs) else []
    print("\n".join([list_conclusion(runs), *list_text(shown, now=now), *left]))
