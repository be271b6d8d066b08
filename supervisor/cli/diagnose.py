"""`supervise diagnose`: what a log or an evidence bundle says. Needs no Slurm, no run folder, no network."""

import sys
from pathlib import Path

import click
import msgspec

from supervisor.cli.diagnose_screen import screen
from supervisor.cli.exit_codes import ExitCode
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.read import read_bundle
from supervisor.diagnose.taxonomy import UNATTRIBUTED
from supervisor.errors import PayloadRefused
from supervisor.model.verdict import Class, Retry, Verdict


@click.command(
    name="diagnose",
    help="What a job's log, or a folder of one job's logs, says about its end: supervise diagnose slurm-80012.out. "
    "Of a folder are read *.log, ranks/<rank>.log, kernel/<node>.log and slurm.json. "
    "Exit code 0: a verdict, 3: not enough evidence in at least one of the paths, 1: a path cannot be read.",
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object per path and line")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, paths: tuple[Path, ...]) -> None:
    """Diagnose each path; one that cannot be read is told and makes the exit code 1."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    code = ExitCode.OK
    for path in paths:
        try:
            verdict = diagnose(read_bundle(path))
        except (OSError, PayloadRefused) as exc:
            print(f"supervise: cannot read {path}: {getattr(exc, 'strerror', None) or exc}", file=sys.stderr)
            code = ExitCode.FAILED
            continue
        print(_json(path, verdict) if as_json else screen(verdict))
        if verdict.cause == UNATTRIBUTED and code is ExitCode.OK:
            code = ExitCode.UNKNOWN
    ctx.exit(code)


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
