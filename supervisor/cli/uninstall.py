"""`supervise uninstall --dry-run`: what stays when the package goes, and the commands that remove it."""

import os
import time
from collections import Counter
from typing import Any

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.installed import Thing, of_site, of_user, package
from supervisor.cli.known_runs import known_runs
from supervisor.cli.slurms_word import with_slurms_words
from supervisor.errors import UsageError
from supervisor.report.many_runs import Listed, listed
from supervisor.report.standing import LIVING
from supervisor.report.words import count, names
from supervisor.settings_resolve import from_environment, from_files, from_options, resolve


@click.command(
    name="uninstall",
    help=(
        "With --dry-run: what of supervise lies here, what goes with the package and what stays, and how that is "
        "removed. It never removes anything itself."
    ),
)
@click.option("--dry-run", is_flag=True, help="show it")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.pass_context
def command(ctx: click.Context, *, dry_run: bool, as_json: bool) -> None:
    """Tell it. Raises `UsageError` without `--dry-run`."""
    if not (dry_run or bool(getattr(ctx.obj, "dry_run", False))):
        raise UsageError(
            f"the package is removed by what installed it, such as: {package().remove[0]}; "
            "supervise uninstall --dry-run shows what stays then"
        )
    settings = resolve(
        [*from_files(os.environ), *from_environment(os.environ), *from_options(getattr(ctx.obj, "settings", {}))]
    ).settings
    runs = listed(with_slurms_words(known_runs()), time.time())
    bases = Counter(run.view.folder.parent for run in runs)
    things = [package(), *of_user(os.environ, bases), *of_site(settings.ledger)]
    told, blockers = _conclusion(things), _living(runs)
    if as_json or bool(getattr(ctx.obj, "json", False)):
        print(json_answer(conclusion=told, blockers=blockers, things=[_row(thing) for thing in things]))
        return
    print("\n".join([told, *(f"WAIT: {each}" for each in blockers), *map(_text, things)]))


def _conclusion(things: list[Thing]) -> str:
    stays = sum(not thing.goes for thing in things)
    return f"Nothing was removed. The package goes by its own command, {count(stays, 'thing')} would stay."


def _living(runs: list[Listed]) -> list[str]:
    """Jobs that need what is to be removed."""
    living = [run.view.job_id or run.view.run.run_id for run in runs if run.standing in LIVING]
    if not living:
        return []
    return [f"not over yet: {names(living)}; without the package a run is not started again after a fault"]


def _text(thing: Thing) -> str:
    head = f"{'goes ' if thing.goes else 'stays'}  {thing.what}: {thing.place}"
    return "\n".join([head, *(f"         {line}" for line in thing.remove)])


def _row(thing: Thing) -> dict[str, Any]:
    return {"what": thing.what, "place": thing.place, "goes": thing.goes, "remove": list(thing.remove)}
