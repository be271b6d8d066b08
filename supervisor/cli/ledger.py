"""`supervise ledger init PATH`, `supervise ledger upkeep`: what the owner of the ledger does with its folders."""

import os
import time
from pathlib import Path

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.errors import UsageError
from supervisor.ledger.site.init import initialised
from supervisor.ledger.site.upkeep import Upkeep, keep_up, parse_keep
from supervisor.settings import Settings
from supervisor.settings_resolve import from_environment, from_files, from_options, resolve


@click.command(
    name="ledger",
    help=(
        "Make the folder in which jobs leave their interruptions (supervise ledger init /srv/supervise --cluster c1), "
        "or keep it up (supervise ledger upkeep, once a day): folders for the months to come, one file for each month "
        "that is over, and none for what is older than ledger_keep. PATH is the setting ledger where none is given. "
        "--dry-run shows what would be done."
    ),
)
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="init: Slurm's ClusterName; several may be")
@click.option("--group", default="", help="init: whose members may read the key for pseudonyms")
@click.option("--dry-run", is_flag=True, help="show what would be done, and do nothing")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("what", type=click.Choice(["init", "upkeep"]))
@click.argument("path", required=False)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    clusters: tuple[str, ...],
    group: str,
    dry_run: bool,
    as_json: bool,
    what: str,
    path: str | None,
) -> None:
    """Do it, and say what was done."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    is_dry = dry_run or bool(getattr(ctx.obj, "dry_run", False))
    settings = _settings(ctx)
    root = _root(path, settings)
    if what == "init":
        made = initialised(root, clusters, group, now=time.time(), is_dry=is_dry)
        told = _told_init(root, made, clusters, is_dry=is_dry)
        print(json_answer(conclusion=told, made=made, is_dry=is_dry) if as_json else told)
        return
    done = keep_up(root, keep_s=parse_keep(settings.ledger_keep), now=time.time(), is_dry=is_dry)
    code = ExitCode.FAILED if _blockers(root, done) else ExitCode.OK
    print(_json(root, done, code, is_dry=is_dry) if as_json else "\n".join(_lines(root, done, is_dry=is_dry)))
    ctx.exit(code)


def _settings(ctx: click.Context) -> Settings:
    given = getattr(ctx.obj, "settings", {})
    return resolve([*from_files(os.environ), *from_environment(os.environ), *from_options(given)]).settings


def _root(path: str | None, settings: Settings) -> Path:
    root = path or settings.ledger
    if not root:
        raise UsageError("no ledger is set: name its folder, or set ledger in /etc/supervise/config.toml")
    return Path(root).absolute()


def _told_init(root: Path, made: list[str], clusters: tuple[str, ...], *, is_dry: bool) -> str:
    would = "would be made" if is_dry else "made"
    head = f"{would}: {', '.join(made)}" if made else f"{root} is as it should be"
    if not clusters:
        return f"{head}\nWithout --cluster NAME all files lie side by side in it."
    return f'{head}\nJobs write into it with ledger = "{root}" in /etc/supervise/config.toml.'


def _conclusion(root: Path, done: Upkeep, *, is_dry: bool) -> str:
    """What was done in numbers."""
    parts = (
        (_counted(len(done.made), "month"), "made ready"),
        (_counted(sum(done.compacted.values()), "file"), f"moved into {_counted(len(done.compacted), 'month')}"),
        (_counted(len(done.removed), "month or file"), "removed as too old"),
    )
    said = ", ".join(f"{count} {what}" for count, what in parts if not count.startswith("0 ")) or "nothing to do"
    return f"{root}: {'would be done: ' if is_dry else ''}{said}"


def _counted(count: int, kind: str) -> str:
    return f"{count} {kind if count == 1 else kind.replace('month', 'months').replace('file', 'files')}"


def _blockers(root: Path, done: Upkeep) -> list[str]:
    none = f"it has no folder for any cluster: supervise ledger init {root} --cluster NAME"
    return [*([] if done.clusters else [none]), *done.problems.all()]


def _lines(root: Path, done: Upkeep, *, is_dry: bool) -> list[str]:
    lines = [_conclusion(root, done, is_dry=is_dry), *_blockers(root, done)]
    lines += [f"  made     {name}" for name in done.made]
    lines += [f"  compact  {name} ({count} files)" for name, count in done.compacted.items()]
    return lines + [f"  removed  {name}" for name in done.removed]


def _json(root: Path, done: Upkeep, code: ExitCode, *, is_dry: bool) -> str:
    return json_answer(
        conclusion=_conclusion(root, done, is_dry=is_dry),
        blockers=_blockers(root, done),
        ends_with=code,
        made=done.made,
        compacted=done.compacted,
        removed=done.removed,
        is_dry=is_dry,
    )
