"""`supervise drill`: injects chosen faults into a supervised job and tells how each of them was handled."""

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.found_run import found_run
from supervisor.cli.off_switch import switched_off
from supervisor.drill.consent import plan, why_not
from supervisor.drill.kinds import KINDS
from supervisor.drill.suite import DEFAULT, Suite, of_faults, read_suite, suite_names
from supervisor.errors import NoSlurm, UsageError
from supervisor.ledger.run_folder import base_folder
from supervisor.version import VERSION

if TYPE_CHECKING:
    from supervisor.drill.record import DrillRecord
    from supervisor.drill.report import Report
    from supervisor.report.view import RunView

_PATIENCE_S: Final = 300.0
_NODES: Final = 2


@click.command(
    name="drill",
    context_settings={"ignore_unknown_options": True},
    help=(
        "Make faults on purpose in a supervised job, and tell of each when it was noticed, what it was taken for, who "
        "was blamed, and how long it took to be where it was. Without --run a small job of its own is submitted, with "
        "the options for sbatch that follow: supervise drill -p gpu -N 2. With --run faults that cost at most a "
        "restart are made in a run of yours, after you have agreed. Exit code 0: all handled as they should be."
    ),
)
@click.option("--fault", "faults", multiple=True, metavar="KIND", help=f"one of {', '.join(KINDS)}; may be repeated")
@click.option("--suite", "suite_name", metavar="NAME@VERSION", help=f"{', '.join(suite_names())}; default {DEFAULT}")
@click.option("--run", "run_name", metavar="RUN", help="a running job of yours in place of one of the drill's own")
@click.option("--yes", is_flag=True, help="agree to faults in the run that --run names, without being asked")
@click.option("--patience-s", type=click.FloatRange(1), default=_PATIENCE_S, metavar="S", help="in the queue; 300")
@click.option("--dry-run", is_flag=True, help="show what would be done, and do nothing")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[SBATCH OPTIONS]")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    faults: tuple[str, ...],
    suite_name: str | None,
    run_name: str | None,
    yes: bool,
    patience_s: float,
    dry_run: bool,
    as_json: bool,
    options: tuple[str, ...],
) -> None:
    """Drill, and tell."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    is_dry = dry_run or bool(getattr(ctx.obj, "dry_run", False))
    suite = _suite(faults, suite_name)
    if place := switched_off(os.environ, getattr(ctx.obj, "settings", {})):
        raise UsageError(f"supervise is switched off by {place}: nobody would handle a fault")
    if run_name is None:
        if is_dry:
            ctx.exit(_tell_plan(suite, None, as_json=as_json))
        if shutil.which("sbatch") is None:
            raise NoSlurm("sbatch is not on PATH; load Slurm's module or go to a login node")
        found = asyncio.run(_ended_by_signals(_own_job(suite, options, patience_s)))
    else:
        if options:
            raise UsageError(f"{options[0]}: options for sbatch are for a job of the drill's own: leave --run away")
        view = found_run(run_name)
        suite = _suite_for_run(suite, view, has_chosen=bool(faults or suite_name))
        if is_dry:
            ctx.exit(_tell_plan(suite, view, as_json=as_json))
        _agreed(suite, view, yes=yes)
        found = asyncio.run(_ended_by_signals(_users_run(suite, view)))
    ctx.exit(_tell(found, suite, as_json=as_json))


def _suite(faults: tuple[str, ...], name: str | None) -> Suite:
    if faults and name:
        raise UsageError("--fault names faults and --suite a list of them: leave one away")
    suite = read_suite(name or (_limits_for_faults() if faults else DEFAULT))
    return of_faults(faults, suite) if faults else suite


def _limits_for_faults() -> str:
    """The newest suite that knows every kind."""
    return max(name for name in suite_names() if name.startswith("standard@"))


def _suite_for_run(suite: Suite, view: "RunView", *, has_chosen: bool) -> Suite:
    """Only what a user's own run may be asked to bear. Raises `UsageError`."""
    safe = tuple(fault for fault in suite.faults if KINDS[fault].is_safe)
    if has_chosen and safe != suite.faults:
        unsafe = ", ".join(fault for fault in suite.faults if fault not in safe)
        raise UsageError(f"{unsafe}: only in a job of the drill's own, not with --run")
    if reason := why_not(view, safe):
        raise UsageError(reason)
    return msgspec.structs.replace(suite, faults=safe, pace=None)


def _tell_plan(suite: Suite, view: "RunView | None", *, as_json: bool) -> ExitCode:
    told = plan(suite, view)
    if as_json:
        whose: dict[str, Any] = {}
        if view is not None:
            whose = {"job_id": view.job_id, "run_id": view.run.run_id, "cluster": view.cluster, "log": view.log}
        print(json_answer(conclusion=told[0], faults=list(suite.faults), suite=suite.name, is_dry=True, **whose))
    else:
        print("\n".join(told))
    return ExitCode.OK


def _agreed(suite: Suite, view: "RunView", *, yes: bool) -> None:
    """Raises `UsageError` where the run's owner does not agree."""
    if yes:
        return
    print("\n".join(plan(suite, view)), file=sys.stderr)
    if not _is_terminal():
        raise UsageError("faults in a run of yours need your consent: --yes")
    if click.prompt(f"Type {view.run.run_id} to agree", default="", show_default=False, err=True) != view.run.run_id:
        raise UsageError("not agreed; nothing was done")


def _is_terminal() -> bool:
    return sys.stdin.isatty()


async def _ended_by_signals(drill: Coroutine[Any, Any, "DrillRecord"]) -> "DrillRecord":
    """A terminal that is closed and a TERM end it as Ctrl-C does: with its jobs."""
    task = asyncio.ensure_future(drill)
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        raise click.Abort from None


async def _own_job(suite: Suite, options: Sequence[str], patience_s: float) -> "DrillRecord":
    """Jobs of the drill's own are gone when this returns, however it does."""
    from supervisor.drill import pace_job  # only where something is drilled
    from supervisor.drill.inject import Steps
    from supervisor.drill.loop import Drill, write_record
    from supervisor.drill.own_job import OwnJobs, new_folder
    from supervisor.drill.targets import OwnTarget
    from supervisor.slurm.process import CallCount

    count = CallCount()
    jobs = OwnJobs(
        folder=new_folder(base_folder(Path.cwd(), os.environ)),
        options=tuple(options),
        nodes=_NODES,
        minutes=5 + 2 * len(suite.faults),
        env=os.environ,
        count=count,
    )
    jobs.lay_out()
    _say(f"what is seen is kept in {jobs.folder}")
    target = OwnTarget(jobs, patience_s, _say)
    steps = Steps(env=os.environ, count=count)
    drill = Drill(
        target=target, suite=suite, steps=steps, folder=jobs.folder, record=_begun(suite, jobs.folder), say=_say
    )
    try:
        record = await drill.carry_out()
        await target.end()
        if suite.pace is not None and not record.problem:
            _say("the time of a step, with us and without")
            paces = await pace_job.measure(jobs, suite.pace.rounds, patience_s)
            record = msgspec.structs.replace(record, paces=paces)
    finally:
        await asyncio.shield(jobs.cancel())
    if target.current is not None and (view := target.current.view()) is not None:
        record = msgspec.structs.replace(record, log=view.log, cluster=view.cluster)
    write_record(jobs.folder, record)
    return record


async def _users_run(suite: Suite, view: "RunView") -> "DrillRecord":
    from supervisor.drill.inject import Steps  # only where something is drilled
    from supervisor.drill.loop import Drill
    from supervisor.drill.own_job import new_folder
    from supervisor.drill.targets import UsersTarget
    from supervisor.drill.watch import Watched
    from supervisor.slurm.process import CallCount

    count, folder = CallCount(), new_folder(base_folder(Path.cwd(), os.environ))
    begun = msgspec.structs.replace(_begun(suite, folder), is_own_job=False, log=view.log, cluster=view.cluster)
    target = UsersTarget(Watched(folder=view.folder), os.environ, count)
    steps = Steps(env=os.environ, count=count)
    return await Drill(target=target, suite=suite, steps=steps, folder=folder, record=begun, say=_say).carry_out()


def _begun(suite: Suite, folder: Path) -> "DrillRecord":
    from supervisor.drill.record import DrillRecord  # only where something is drilled

    return DrillRecord(version=VERSION, suite=suite.name, began_at=time.time(), folder=str(folder))


def _say(text: str) -> None:
    print(f"supervise: {text}", file=sys.stderr, flush=True)


def _tell(record: "DrillRecord", suite: Suite, *, as_json: bool) -> ExitCode:
    from supervisor.drill.report import conclusion, figures, lines, report

    found: Report = report(record, suite)
    code = ExitCode.OK if found.is_ok else ExitCode.FAILED
    if not as_json:
        print("\n".join(lines(found)))
        return code
    head: dict[str, Any] = {
        "job_id": record.jobs[-1] if record.jobs else "",
        "run_id": record.run_id,
        "cluster": record.cluster,
        "log": record.log,
        "ends_with": code,
    }
    print(json_answer(conclusion=conclusion(found), blockers=found.blockers, **head, **figures(found)))
    return code
