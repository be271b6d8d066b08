"""`supervise run -- CMD…`: supervise a command in this allocation, or on this machine where there is no Slurm."""

import os
import platform
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from supervisor.cli import off_switch, run_hop, run_output
from supervisor.cli.answer import json_answer
from supervisor.cli.checkpoint_look import sentence_on, tell_checkpoints
from supervisor.cli.kept_version import keep_version, version_name
from supervisor.cli.options import QUIET_HELP, SETTINGS, GlobalOptions
from supervisor.cli.promise import promise
from supervisor.cli.run_alone import be_alone
from supervisor.cli.run_place import RunPlace, run_place, why_not_here, why_unsupervised
from supervisor.cli.shown_value import shown
from supervisor.cli.workdir import named_workdir
from supervisor.errors import NoSlurm, NoSuchRun, RunFolderUnusable, UsageError
from supervisor.ledger.find_run import IndexLine, list_runs, note_run
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.run_folder import base_folder, create, job_ids, read_run
from supervisor.settings_resolve import Resolved, from_environment, from_files, from_options, resolve
from supervisor.slurm.keeper_files import PROGRAM, programs
from supervisor.slurm.submission import OWN_VARIABLES, run_id_for
from supervisor.slurm.submit import sbatch_environment

_LOOK_S: Final = 1.0
"""For the glance at the checkpoints: the command waits for it."""
_NOT_FOUND, _NOT_STARTED = 127, 126
"""A shell's exit codes for a command that is not there, or cannot be started."""


def _command(*, quiet: bool, dry_run: bool, command: tuple[str, ...], **settings: str | None) -> None:
    context = click.get_current_context()
    given: GlobalOptions = context.obj or GlobalOptions()
    own = {name: value for name, value in settings.items() if value is not None}
    context.exit(
        start(
            GlobalOptions(
                quiet=given.quiet or quiet,
                dry_run=given.dry_run or dry_run,
                json=given.json,
                settings={**given.settings, **own},
            ),
            command,
        )
    )


command: Final = click.Command(
    name="run",
    callback=_command,
    params=[
        click.Option(["-q", "--quiet"], is_flag=True, help=QUIET_HELP),
        click.Option(["--dry-run"], is_flag=True, help="show what would be done, and do nothing"),
        *(
            click.Option([f"--{name.replace('_', '-')}", name], metavar=meta, help=text)
            for name, meta, text in SETTINGS
        ),
        click.Argument(["command"], nargs=-1, required=True, type=click.UNPROCESSED),
    ],
    context_settings={"allow_interspersed_args": False, "max_content_width": 110},
    help=(
        "Supervise a command in this allocation, or on this machine where there is no Slurm: "
        "supervise run -- srun python train.py. When it fails it is started again; the exit code is the last start's."
    ),
)


def start(given: GlobalOptions, words: Sequence[str]) -> int:
    """Become the keeper of this command; returns only for `--dry-run`, or where the command cannot be started.

    Raises `UsageError` where it cannot be supervised from here.
    """
    env = os.environ
    if env.get("SUPERVISE_ATTEMPT"):
        return _leave_alone(given, words, "this job is supervised already", "as part of it")
    if off_place := off_switch.switched_off(env, given.settings):
        off_switch.tell(given, off_place, words[0])
        return 0 if given.dry_run else _become(words)
    if why := why_not_here(env):
        raise UsageError(why)
    if why := why_unsupervised(env):
        return _leave_alone(given, words, why, "WITHOUT supervision")
    is_behind_hop = _arrive()
    place = run_place(env, platform.node() or "localhost", is_behind_hop=is_behind_hop)
    if place.is_elsewhere and not given.dry_run:
        return _hop(place)
    if given.dry_run or not place.job_id:
        return _start_new(given, words, place, env)
    with be_alone(place.job_id):
        earlier = _earlier(words, place, env)
        return _start_new(given, words, place, env) if earlier is None else _run_keeper(earlier, words, place)


def _arrive() -> bool:
    """Whether this is behind a hop: then what the step says of itself is forgotten."""
    shell = run_hop.unpacked(os.environ)
    if shell is None:
        return False
    for name in set(os.environ) - set(shell):
        del os.environ[name]
    os.environ.update(shell)
    return True


def _hop(place: RunPlace) -> int:
    """Say it again on a node of the job, with this very Python and these very words."""
    if shutil.which("srun") is None:
        raise NoSlurm("srun is not on PATH: load Slurm's module, or say it on a node of the job")
    program = [sys.executable, "-I", "-m", "supervisor.cli.main"]
    sys.stdout.flush()
    sys.stderr.flush()
    env = run_hop.packed(sbatch_environment(OWN_VARIABLES))
    return run_output.run_hop(run_hop.hop(place, program, sys.argv[1:]), env)


def _start_new(given: GlobalOptions, words: Sequence[str], place: RunPlace, env: Mapping[str, str]) -> int:
    workdir = named_workdir(env)
    resolved = _settings(given, workdir, env)
    run = _run_file(words, place, resolved, workdir, env)
    folder = base_folder(Path(workdir), env) / run.run_id
    if given.dry_run:
        print((_as_json if given.json else _as_text)(run, folder, place))
        tell_checkpoints(given, run.settings.checkpoint)
        return 0
    if shutil.which(words[0]) is None:
        return _cannot_start(words[0], "command not found", _NOT_FOUND)
    try:
        create(folder, run, {name: (content, 0o600) for name, content in programs().items()})
    except RunFolderUnusable as exc:
        print(f"supervise: WARNING: {exc}; the command runs WITHOUT supervision", file=sys.stderr)
        return _become(words)
    keep_version(folder, run.runtime)
    note_run(IndexLine(run_id=run.run_id, folder=str(folder), job_id=place.job_id), env)
    if not given.quiet:
        checkpoints = sentence_on(run.settings.checkpoint, _LOOK_S)
        print(promise(run, job_id=place.job_id, checkpoints=checkpoints), file=sys.stderr)
    return _run_keeper(folder, words, place)


def _leave_alone(given: GlobalOptions, words: Sequence[str], why: str, how: str) -> int:
    """The command runs, and no supervisor is started for it."""
    if not given.quiet:
        print(f"supervise: {why}; {words[0]} runs {how}", file=sys.stderr)
    return 0 if given.dry_run else _become(words)


def _settings(given: GlobalOptions, workdir: str, env: Mapping[str, str]) -> Resolved:
    resolved = resolve([*from_files(env), *from_environment(env), *from_options(given.settings)])
    where = resolved.settings.checkpoint
    if not where or "://" in where:
        return resolved
    absolute = str(Path(workdir) / where)
    return Resolved(msgspec.structs.replace(resolved.settings, checkpoint=absolute), resolved.origin)


def _run_file(
    words: Sequence[str], place: RunPlace, resolved: Resolved, workdir: str, env: Mapping[str, str]
) -> RunFile:
    name = env.get("SLURM_JOB_NAME", "") if place.job_id else ""
    return RunFile(
        run_id=run_id_for(name or Path(words[0]).name, os.urandom(3).hex()[:5]),
        created_at=time.time(),
        settings=resolved.settings,
        settings_origin=resolved.origin,
        script_args=tuple(words),
        python=sys.executable,
        runtime=version_name(),
        workdir=workdir,
        nodes=max(1, len(place.nodes) - resolved.settings.spares),
    )


def _earlier(words: Sequence[str], place: RunPlace, env: Mapping[str, str]) -> Path | None:
    """The run that this very command began before Slurm started the job again: its limits count on."""
    if not place.is_restarted:
        return None
    for folder in list_runs(workdir=Path(named_workdir(env)), env=env):
        with suppress(NoSuchRun, RunFolderUnusable):
            run = read_run(folder)
            if not run.script_name and run.script_args == tuple(words) and place.job_id in job_ids(folder):
                return folder
    return None


def _run_keeper(folder: Path, words: Sequence[str], place: RunPlace) -> int:
    """Not through the stub in `sh`: it would make a second folder for a task of an array, and this Python is known."""
    argv = [sys.executable, "-I", str(folder / PROGRAM), str(folder), *words]
    if not place.job_id and not run_output.is_needed():
        return _become(argv)
    sys.stdout.flush()
    sys.stderr.flush()
    env = sbatch_environment(OWN_VARIABLES)
    return run_output.run_keeper(argv, env, folder, is_behind_hop=place.is_behind_hop)


def _become(argv: Sequence[str]) -> int:
    """Does not return where the program can be started."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(argv[0], list(argv), sbatch_environment(OWN_VARIABLES))  # noqa: S606  # no shell is wanted
    except OSError as exc:
        code = _NOT_FOUND if isinstance(exc, FileNotFoundError) else _NOT_STARTED
        return _cannot_start(argv[0], exc.strerror or str(exc), code)


def _cannot_start(program: str, why: str, code: int) -> int:
    print(f"supervise: {program}: {why}", file=sys.stderr)
    return code


def _conclusion(run: RunFile, place: RunPlace) -> str:
    where = f"in job {place.job_id} on {len(place.nodes)} nodes" if place.job_id else "on this machine"
    return f"Would run {shlex.join(run.script_args)} {where} as run {run.run_id}; nothing was started."


def _as_text(run: RunFile, folder: Path, place: RunPlace) -> str:
    settings = [f"  setting  {name} = {value} ({origin})" for name, value, origin in _given_settings(run)]
    return "\n".join(
        [_conclusion(run, place), f"  folder   {folder}", f"  nodes    {' '.join(place.nodes)}", *settings]
    )


def _as_json(run: RunFile, folder: Path, place: RunPlace) -> str:
    return json_answer(
        conclusion=_conclusion(run, place),
        job_id=place.job_id,
        run_id=run.run_id,
        command=list(run.script_args),
        nodes=list(place.nodes),
        folder=str(folder),
        settings_origin=run.settings_origin,
    )


def _given_settings(run: RunFile) -> list[tuple[str, Any, str]]:
    return [(name, shown(name, getattr(run.settings, name)), origin) for name, origin in run.settings_origin.items()]
