"""`supervise diagnose`: what a log or an evidence bundle says. Needs no Slurm, no run folder, no network."""

import glob
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import msgspec

from supervisor.cli.answer import REDACT_HELP, without_secrets
from supervisor.cli.diagnose_screen import screen
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.wrong import how_to_correct, how_to_look
from supervisor.diagnose.bundle import Bundle
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.reading.packs import site_catalogue
from supervisor.diagnose.taxonomy import UNATTRIBUTED
from supervisor.errors import PayloadRefused
from supervisor.model.verdict import Class, Retry, Verdict

_OUTPUT: Final = re.compile(r"slurm-\d+(?:_\d+)?\.out")


@click.command(
    name="diagnose",
    help="What a job's log, or a folder of one job's logs, says about its end: supervise diagnose slurm-80012.out. "
    "A file is read with the .err beside it, also compressed (gz, zst) or while it grows; of a folder are read its "
    "logs, ranks/<rank>.log, kernel/<node>.log, slurm.json and the other parts of a bundle; a run folder stands for "
    "its last incident. Exit code 0: a verdict, 3: not enough evidence in at least one of the paths, 1: a path "
    "cannot be read.",
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object per path and line")
@click.option(
    "--against", type=click.Path(path_type=Path), help="log or folder of a good run: what it says too is no evidence"
)
@click.option(
    "--packs", type=click.Path(path_type=Path), help="folder with signatures of your own (docs/signatures.md)"
)
@click.option("--redact", is_flag=True, help=REDACT_HELP)
@click.argument("paths", nargs=-1, required=True)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    as_json: bool,
    against: Path | None,
    packs: Path | None,
    redact: bool,
    paths: tuple[str, ...],
) -> None:
    """Diagnose each path; one that cannot be read is told and makes the exit code 1."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    catalogue = site_catalogue(packs)
    good = _good(against) if against else None
    code, gap = ExitCode.OK, ""
    for path in _expanded(paths):
        try:
            verdict = diagnose(read_bundle(path), catalogue, good)
        except (OSError, PayloadRefused) as exc:
            print(_refusal(path, exc), file=sys.stderr)
            code = ExitCode.FAILED
            continue
        answer = _json(path, verdict) if as_json else gap + _screen(path, verdict)
        gap = "\n"
        print(without_secrets(answer, as_json=as_json) if redact else answer)
        for remark in _remarks(path, verdict):
            print(f"supervise: {remark}", file=sys.stderr)
        if verdict.cause == UNATTRIBUTED and code is ExitCode.OK:
            code = ExitCode.UNKNOWN
    ctx.exit(code)


def _remarks(path: Path, verdict: Verdict) -> Iterator[str]:
    """What the verdict does not rest on, and what it should not rest on together."""
    yield from (f"left out: {part}" for part in verdict.unread)
    jobs = sum(1 for one in path.iterdir() if _OUTPUT.fullmatch(one.name)) if path.is_dir() else 0
    if jobs > 1:
        each = f"supervise diagnose {path}/slurm-*.out"
        yield f"{path} holds the output of {jobs} jobs, and was read as one job's; a verdict for each: {each}"


def _screen(path: Path, verdict: Verdict) -> str:
    """An empty file is told only where nothing beside it gave a verdict."""
    is_empty = verdict.cause == UNATTRIBUTED and path.is_file() and not path.stat().st_size
    return screen(verdict, path, is_empty=is_empty, wrong=how_to_correct(path))


def _expanded(paths: tuple[str, ...]) -> Iterator[Path]:
    """The paths; a pattern that the shell has left as it is stands for what it matches."""
    for text in paths:
        matches = [] if Path(text).exists() else sorted(glob.glob(text))  # noqa: PTH207 - may be absolute
        yield from (Path(one) for one in matches or [text])


def _good(path: Path) -> Bundle:
    try:
        return read_bundle(path)
    except (OSError, PayloadRefused) as exc:
        raise click.UsageError(f"--against: {_refusal(path, exc).removeprefix('supervise: ')}") from exc


def _refusal(path: Path, exc: Exception) -> str:
    reason = getattr(exc, "strerror", None)
    if reason:
        return f"supervise: cannot read {path}: {reason}"
    look = how_to_look(path)
    return f"supervise: {exc}" + (f"; what the supervisor saw: {look}" if look else "")


def _json(path: Path, verdict: Verdict) -> str:
    answer = {
        "path": str(path),
        "class": verdict.cls,
        "cause": verdict.cause,
        "confidence": verdict.confidence,
        "blame": verdict.blame,
        "retryable": verdict.retry in {Retry.YES, Retry.ONCE, Retry.SKIP},
        "exclude_nodes": verdict.exclude_nodes,
        "action": action(verdict),
        "summary": verdict.summary,
        "evidence": verdict.evidence,
        "changed": verdict.changed,
        "unread": verdict.unread,
    }
    built = msgspec.to_builtins(answer)
    # Facts leave out what is empty; this answer names each of its fields.
    built["blame"] = {"nodes": [], "gpus": [], "ranks": []} | built["blame"]
    built["evidence"] = [{"at": None} | one for one in built["evidence"]]
    return msgspec.json.encode(built).decode()


def action(verdict: Verdict) -> str:
    """What should be done: none, stop, rerun, rerun_once, rerun_without_node, skip_data_and_rerun."""
    if verdict.cls is Class.PLANNED and verdict.cause == "completed":
        return "none"
    if verdict.retry in {Retry.NO, Retry.NEVER}:
        return "stop"
    if verdict.exclude_nodes:
        return "rerun_without_node"
    return {Retry.ONCE: "rerun_once", Retry.SKIP: "skip_data_and_rerun"}.get(verdict.retry, "rerun")
