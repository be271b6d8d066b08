"""The command `supervise`. Only the module of the command that was asked for is imported."""

import importlib
import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click

from supervisor import errors
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.options import QUIET_HELP, SETTINGS, GlobalOptions

COMMANDS: Final = {
    "sbatch": ("sbatch", "submit a job under supervision: supervise sbatch train.sh"),
    "run": ("run", "supervise a command in this allocation, or on this machine: supervise run -- python train.py"),
    "once": ("once", "in a job: do this once for the whole run, not at each start: supervise once -- ./download.sh"),
    "why": ("why", "what happened to a run, and what to do: supervise why 81234"),
    "status": ("status", "how a run is doing"),
    "list": ("list_runs", "the runs that are known here, living and ended"),
    "report": ("report", "incidents of many runs, with their times"),
    "diagnose": (
        "diagnose",
        "what a log, or a folder with the logs of one job, says about a failure: supervise diagnose slurm-81234.out",
    ),
    "halt": ("halt", "end a running job in good order, after its next checkpoint: supervise halt 81234"),
    "resume": ("resume", "take back a halt that has not begun"),
    "mode": ("mode", "whether interruptions of a running job are acted upon: supervise mode observe 81234"),
    "exclude": ("exclude", "keep nodes out of a running job: supervise exclude 81234 node017"),
    "unexclude": ("unexclude", "let a running job use them again"),
    "replay": ("replay", "what today's rules say of a run's incidents: supervise replay 81234"),
    "doctor": ("doctor", "what works on this cluster, what is limited and how to mend it; --job tests it"),
    "drill": ("drill", "make faults on purpose and tell how each was handled: supervise drill -N 2"),
    "hook": ("hook", "for Slurm's prolog, epilog and health check, as root: see docs/hooks.md"),
    "ledger": ("ledger", "make or keep up the site's ledger: supervise ledger init /srv/supervise --cluster c1"),
    "config": ("config", "the settings and where each comes from: supervise config --explain spares"),
    "policy": ("policy", "what is done after each cause, and what other settings would have done"),
    "nodes": ("nodes", "which nodes interrupt jobs more than chance explains: supervise nodes --since 14d"),
    "node": ("node", "what is known of one node, and what would drain it: supervise node gpu017"),
    "ticket": ("ticket", "text for the vendor of a node: supervise ticket gpu017 > rma.txt"),
    "gc": ("gc", "remove the folders of runs that are over for long: supervise gc --dry-run"),
    "uninstall": ("uninstall", "what stays when the package goes: supervise uninstall --dry-run"),
    "feedback": ("feedback", "say what an interruption really was: supervise feedback 81234 --cause cuda_oom"),
}
"""Command: module of `supervisor.cli`, one line of help."""
_EXIT: Final = (
    (errors.UsageError, ExitCode.USAGE),
    (errors.NoSuchRun, ExitCode.NOT_FOUND),
    (errors.NoSlurm, ExitCode.NO_SLURM),
)


def _meant(word: str) -> str:
    """What to type in place of a word that is no command; empty where nobody could know."""
    if Path(word).is_file():
        return f" To submit it: supervise sbatch {word}; to run it here: supervise run -- {word}"
    close = get_close_matches(word, COMMANDS, n=1)
    return f" Did you mean {close[0]}?" if close else ""


class _LazyGroup(click.Group):
    """Knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx  # the same in every context
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"supervisor.cli.{COMMANDS[cmd_name][0]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with what was probably meant; also where an option took the command for its value."""
        swallowed = next((name for name, value in ctx.params.items() if value in COMMANDS), "")
        if args[0] not in COMMANDS and swallowed:
            ctx.fail(f"--{swallowed.replace('_', '-')} needs a value, and {ctx.params[swallowed]!r} was taken for it.")
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{_meant(args[0])}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands first: who looks for one must not page through the settings."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table: importing all of them would take half a second."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _setting_options() -> list[click.Parameter]:
    return [
        click.Option([f"--{name.replace('_', '-')}", name], metavar=metavar, help=text)
        for name, metavar, text in SETTINGS
    ]


def _version(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        from supervisor.version import VERSION

        click.echo(f"supervise {VERSION}")
        ctx.exit()


def _begin(*, quiet: bool, dry_run: bool, json: bool, **settings: str | None) -> None:
    given = {name: value for name, value in settings.items() if value is not None}
    click.get_current_context().obj = GlobalOptions(quiet=quiet, dry_run=dry_run, json=json, settings=given)


cli: Final = _LazyGroup(
    name="supervise",
    callback=_begin,
    params=[
        click.Option(["-q", "--quiet"], is_flag=True, help=QUIET_HELP),
        click.Option(["--dry-run"], is_flag=True, help="show what would be done, and do nothing"),
        click.Option(["--json"], is_flag=True, help="answer in JSON on stdout"),
        click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="show the version"
        ),
        *_setting_options(),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help=(
        "Run a training job on Slurm so that a fault costs seconds to minutes instead of a night.\n\n"
        "Put it in front of sbatch: supervise --checkpoint /scratch/me/ck sbatch train.sh. "
        "The options below stand before the command, in the script as #SUPERVISE lines, in the environment as "
        "SUPERVISE_<OPTION>, or in ~/.config/supervise/config.toml."
    ),
)


def main() -> None:
    """Run `supervise`; errors of ours become one sentence on stderr and an exit code."""
    try:
        cli(prog_name="supervise")
    except errors.SuperviseError as exc:
        print(f"supervise: {exc}", file=sys.stderr)
        sys.exit(exit_code(exc))
    finally:
        _flush()


def _flush() -> None:
    """Whoever has read enough, as `head` does, need not hear of it: Python would complain at its end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_code(exc: errors.SuperviseError) -> ExitCode:
    """The exit code for an error that ends a command."""
    return next((code for kind, code in _EXIT if isinstance(exc, kind)), ExitCode.FAILED)


if __name__ == "__main__":
    main()
