"""`supervise [options] sbatch ARGS…`: submit a job under supervision; what sbatch prints and returns is kept."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import msgspec

from supervisor.cli import off_switch, show_submission
from supervisor.cli.checkpoint_look import tell_checkpoints
from supervisor.cli.kept_version import keep_version, version_name
from supervisor.cli.options import SETTINGS, GlobalOptions
from supervisor.cli.sending import Sending
from supervisor.errors import RunFolderUnusable, UsageError
from supervisor.ledger.run_folder import base_folder, create
from supervisor.settings import Settings
from supervisor.settings_resolve import (
    Resolved,
    from_directives,
    from_environment,
    from_files,
    from_options,
    resolve,
)
from supervisor.slurm.directives import parse_directives
from supervisor.slurm.keeper_files import programs
from supervisor.slurm.kinds import why_not_watched, why_refused
from supervisor.slurm.sbatch_options import STANDARD, CommandLine, Option, Table, parse, with_plugins
from supervisor.slurm.spares import with_spares
from supervisor.slurm.submission import (
    OWN_VARIABLES,
    WRAP_HEAD,
    Place,
    Request,
    Submission,
    plan,
    run_id_for,
    unsupervised,
    why_sbatch_alone,
)
from supervisor.slurm.submit import replace_by_sbatch, sbatch_environment

_HELP_LIMIT_S: Final = 10.0
_SUFFIX_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without letters that are taken for digits; 32 of them, so that a byte maps evenly."""


class _Verbatim(click.Command):
    """Hands its arguments on as they are: click would eat a `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The script as sbatch would read it."""

    text: str
    """Empty where it cannot be read: sbatch then says why."""
    path: str = ""
    fed: bytes | None = None
    """What was read from stdin, and must be given back to an sbatch that reads it itself."""


def _command() -> None:
    context = click.get_current_context()
    context.exit(submit(context.obj or GlobalOptions(), context.args))


command: Final = _Verbatim(
    name="sbatch",
    callback=_command,
    add_help_option=False,
    help="Submit a job under supervision. All arguments are sbatch's: supervise sbatch -N 4 train.sh --lr 0.1",
)


def submit(given: GlobalOptions, args: Sequence[str]) -> int:
    """Submit, and give sbatch's exit code. Raises `UsageError` before anything is sent."""
    env = os.environ
    if place := off_switch.switched_off(env, given.settings):
        return _stand_aside(given, args, Script(text=""), place)
    line, table = _split(args)
    script = _read_script(line, env)
    alone = why_sbatch_alone(line, script.text)
    if alone:
        return _leave_to_sbatch(given, line, script, why=alone)
    table = _table_for(script.text, table)
    request = Request(command=line, text=script.text, path=script.path, workdir=_workdir(env), env=env, table=table)
    resolved = _settings(given, request)
    if resolved.settings.off:
        return _stand_aside(given, args, script, resolved.origin["off"])
    if why := why_refused(request.options):
        raise UsageError(why)
    if why := why_not_watched(is_heterogeneous=request.is_heterogeneous):
        return _unsupervised(given, request, resolved.settings, script, why)
    return _submit_supervised(given, request, resolved, script)


def _submit_supervised(given: GlobalOptions, request: Request, resolved: Resolved, script: Script) -> int:
    """All is known that the user wants."""
    try:
        submission = plan(request, resolved.settings, resolved.origin, _place(request))
    except RunFolderUnusable as exc:
        return _unsupervised(given, request, resolved.settings, script, str(exc))
    if given.dry_run:
        _show(given, submission, resolved.origin)
        tell_checkpoints(given, resolved.settings.checkpoint)
        return 0
    if submission.run is None:
        return _become_sbatch(submission, script)
    try:
        create(Path(submission.folder), submission.run, submission.files)
    except RunFolderUnusable as exc:
        return _unsupervised(given, request, resolved.settings, script, str(exc))
    keep_version(Path(submission.folder), submission.run.runtime)
    return Sending(given=given, submission=submission, run=submission.run, options=request.options).carry_out()


def _split(args: Sequence[str]) -> tuple[CommandLine, Table]:
    """The arguments, with what the site's plugins add to sbatch where it matters, and the options that were known."""
    line = parse(args)
    own = {f"--{name.replace('_', '-')}" for name, _, _ in SETTINGS}
    if misplaced := own.intersection(line.unknown):
        name = min(misplaced)
        raise UsageError(f"{name} is an option of supervise: put it before sbatch, as in `supervise {name} … sbatch …`")
    table = with_plugins(_sbatch_help()) if line.unknown else STANDARD
    return parse(args, table), table


def _table_for(text: str, table: Table) -> Table:
    """The same for what the script's own lines say: the value of an unknown option hides the options behind it."""
    if table is not STANDARD or not parse_directives(text).unknown():
        return table
    return with_plugins(_sbatch_help())


def _sbatch_help() -> str:
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(["sbatch", "--help"], capture_output=True, timeout=_HELP_LIMIT_S, check=True)
        return answer.stdout.decode(errors="replace")
    return ""


def _read_script(line: CommandLine, env: Mapping[str, str]) -> Script:
    wrapped = [option.value or "" for option in line.options if option.name == "wrap"]
    if why_sbatch_alone(line, "#!"):
        return Script(text="")
    if wrapped:
        return Script(text=f"{WRAP_HEAD}{wrapped[-1]}\n")
    if line.script is None:
        fed = sys.stdin.buffer.read()
        return Script(text=fed.decode(errors="surrogateescape"), fed=fed)
    path = _found_script(line.script, env)
    try:
        return Script(text=Path(path).read_bytes().decode(errors="surrogateescape"), path=path)
    except OSError:
        return Script(text="")


def _found_script(name: str, env: Mapping[str, str]) -> str:
    """Where sbatch would find it: a bare name in this folder first, then along PATH."""
    if name.startswith((".", "/")):
        return name
    places = [os.path.join(place, name) for place in (os.getcwd(), *env.get("PATH", "").split(":"))]  # noqa: PTH118, PTH109  # a text, as sbatch keeps it
    return next((place for place in places if os.path.exists(place) and not os.path.isdir(place)), name)  # noqa: PTH110, PTH112


def _workdir(env: Mapping[str, str]) -> str:
    """This folder as the user's shell names it, which on automounted homes is the name that all nodes know."""
    here, named = os.getcwd(), env.get("PWD", "")  # noqa: PTH109  # a text
    with suppress(OSError):
        if named.startswith("/") and os.path.samefile(here, named):  # noqa: PTH121  # compares two texts
            return named
    return here


def _settings(given: GlobalOptions, request: Request) -> Resolved:
    resolved = resolve(
        [
            *from_files(request.env),
            *from_environment(request.env),
            *from_directives(request.directives.supervise),
            *from_options(given.settings),
        ]
    )
    where = resolved.settings.checkpoint
    if not where or "://" in where:
        return resolved
    # Whoever reads it later stands in another folder.
    absolute = str(_job_folder(request) / where)
    return Resolved(msgspec.structs.replace(resolved.settings, checkpoint=absolute), resolved.origin)


def _job_folder(request: Request) -> Path:
    """The working folder of the job."""
    return Path(request.workdir) / request.options.get("chdir", "")


def _place(request: Request) -> Place:
    """Raises `RunFolderUnusable` where this installation has no keeper."""
    run_id = run_id_for(request.job_name, "".join(_SUFFIX_LETTERS[byte % 32] for byte in os.urandom(5)))
    base = base_folder(_job_folder(request), request.env)
    return Place(
        run_id=run_id,
        folder=str(base / run_id),
        created_at=time.time(),
        python=sys.executable,
        programs=programs(),
        runtime=version_name(),
    )


def _show(given: GlobalOptions, submission: Submission, origin: Mapping[str, str]) -> None:
    shown = show_submission.as_json if given.json else show_submission.as_text
    click.echo(shown(submission, origin))


def _stand_aside(given: GlobalOptions, args: Sequence[str], script: Script, place: str) -> int:
    """The off-switch: nothing of the call is looked at or changed."""
    submission = Submission(argv=tuple(args), reasons=(f"not supervised: switched off by {place}",))
    if given.dry_run:
        _show(given, submission, {})
        return 0
    off_switch.tell(given, place, "sbatch")
    return _become_sbatch(submission, script)


def _leave_to_sbatch(given: GlobalOptions, line: CommandLine, script: Script, *, why: str) -> int:
    """What needs nothing of us goes to sbatch as it was typed."""
    submission = unsupervised(line, [], why=why)
    if given.dry_run:
        _show(given, submission, {})
        return 0
    return _become_sbatch(submission, script)


def _unsupervised(given: GlobalOptions, request: Request, settings: Settings, script: Script, why: str) -> int:
    """A job is never lost to a run folder, nor to its kind: it goes to sbatch as plain sbatch would have had it."""
    extra: list[Option] = with_spares(request.options, settings.spares, is_heterogeneous=request.is_heterogeneous)
    submission = unsupervised(request.command, extra, why=why)
    print(f"supervise: WARNING: {why}; the job is submitted WITHOUT supervision", file=sys.stderr, flush=True)
    if given.dry_run:
        _show(given, submission, {})
        return 0
    return _become_sbatch(submission, script)


def _become_sbatch(submission: Submission, script: Script) -> int:
    """Does not return where sbatch exists."""
    replace_by_sbatch(submission.argv, env=sbatch_environment(OWN_VARIABLES), fed=script.fed)
    return 0
