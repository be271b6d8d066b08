"""`supervise gc`: removes the folders of runs that are over for long."""

import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.old_runs import Judged, folders_of, jobs_in_queue, judged, parse_days
from supervisor.cli.old_versions import old_versions
from supervisor.ledger.removal import remove_run
from supervisor.report.words import count, size


@click.command(
    name="gc",
    help=(
        "Remove the folders of runs that are over and in which nothing was written for a month: supervise gc --dry-run "
        "shows which. PATH is a run folder, or a folder with .supervise in it; without one all runs known here are "
        "meant. A run that Slurm may still know stays, and so does what belongs to others. Versions of supervise that "
        "were kept for runs go when no run beside them needs them."
    ),
)
@click.option("--dry-run", is_flag=True, help="show what would be removed, and do nothing")
@click.option("--older", default="30d", metavar="DAYS", help="only what was not written for so long; default 30d")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.pass_context
def command(ctx: click.Context, *, dry_run: bool, older: str, as_json: bool, paths: tuple[Path, ...]) -> None:
    """Remove, and say what and how much."""
    is_dry = dry_run or bool(getattr(ctx.obj, "dry_run", False))
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    older_s = parse_days(older)
    gone: list[Judged] = []
    kept: list[Judged] = []
    failed: list[str] = []
    ask = cache(jobs_in_queue)  # one question, and only where it is needed
    folders = folders_of(paths)
    for folder in folders:
        found = judged(folder, older_s=older_s, now=time.time(), ask=ask)
        if found.why_kept:
            kept.append(found)
        elif is_dry or _is_removed(folder, failed):
            gone.append(found)
    versions = list(old_versions([folder.parent for folder in folders], without=[one.folder for one in gone]))
    if not is_dry:
        versions = [path for path in versions if _is_version_removed(path, failed)]
    told, code = _conclusion(gone, kept, is_dry=is_dry), ExitCode.FAILED if failed else ExitCode.OK
    if as_json:
        rows: dict[str, Any] = {
            "removed": _rows(gone),
            "kept": _rows(kept),
            "versions": [str(path) for path in versions],
        }
        print(json_answer(conclusion=told, blockers=failed, ends_with=code, **rows, is_dry=is_dry))
    else:
        print("\n".join([told, *_lines(gone, kept), *(f"  unused    {path}" for path in versions)]))
        print(*failed, sep="\n", end="\n" * bool(failed), file=sys.stderr)
    ctx.exit(code)


def _is_removed(folder: Path, failed: list[str]) -> bool:
    try:
        remove_run(folder)
    except OSError as exc:
        failed.append(f"{folder} could not be removed: {exc.strerror}; what is left goes with the next supervise gc")
        return False
    return True


def _is_version_removed(path: Path, failed: list[str]) -> bool:
    try:
        path.unlink()
    except OSError as exc:
        failed.append(f"{path} could not be removed: {exc.strerror}")
        return False
    return True


def _conclusion(gone: Sequence[Judged], kept: Sequence[Judged], *, is_dry: bool) -> str:
    verb = "Would remove" if is_dry else "Removed"
    return f"{verb} {count(len(gone), 'run folder')} ({_size(gone)}); {len(kept)} stay ({_size(kept)})."


def _size(found: Sequence[Judged]) -> str:
    return size(sum(one.size_bytes for one in found))


def _lines(gone: Sequence[Judged], kept: Sequence[Judged]) -> list[str]:
    """Each that goes, and each that stays though it is old; the young ones are a number."""
    lines = [f"  {size(one.size_bytes):>8}  {one.folder}" for one in gone]
    lines += [f"  stays     {one.folder}: {one.why_kept}" for one in kept if not one.is_young]
    young = sum(one.is_young for one in kept)
    return [*lines, f"  stays     {count(young, 'run')} written to more lately"] if young else lines


def _rows(found: Sequence[Judged]) -> list[dict[str, Any]]:
    return [{"folder": str(one.folder), "size_bytes": one.size_bytes, "why_kept": one.why_kept} for one in found]
