"""`supervise once -- CMD…`: within a run, whatever the number of starts, tasks and jobs, this is done once."""

import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from supervisor.cli.options import GlobalOptions
from supervisor.cli.workdir import named_workdir
from supervisor.ledger import once
from supervisor.model.ids import AttemptNo

_NOT_FOUND, _NOT_STARTED = 127, 126
"""A shell's exit codes for a command that is not there, or cannot be started."""
_PASSED_ON: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def _command(*, name: str, command: tuple[str, ...]) -> None:
    context = click.get_current_context()
    context.exit(do_once(context.obj or GlobalOptions(), command, name=name, env=os.environ))


command: Final = click.Command(
    name="once",
    callback=_command,
    params=[
        click.Option(
            ["--name"], default="", metavar="NAME", help="what is done; default: the command itself, in this folder"
        ),
        click.Argument(["command"], nargs=-1, required=True, type=click.UNPROCESSED),
    ],
    context_settings={"allow_interspersed_args": False, "max_content_width": 110},
    help=(
        "Do something once for a whole run: supervise once -- ./download.sh. When the script is started again, or "
        "another task says the same at the same time, it waits for the first and takes over its exit code. What has "
        "failed is tried again by the next who asks. Outside a supervised job the command simply runs."
    ),
)


def do_once(given: GlobalOptions, words: Sequence[str], *, name: str, env: Mapping[str, str]) -> int:
    """The exit code of the command, now or when it was done."""
    run_folder, attempt = env.get("SUPERVISE_RUN_FOLDER", ""), env.get("SUPERVISE_ATTEMPT", "")
    if given.dry_run:
        print(f"Would run {shlex.join(words)} {'once in this run' if run_folder else 'at once: there is no run here'}.")
        return 0
    if not run_folder or not attempt.isdecimal():
        return _replaced_by(words)
    folder = once.folder_of(Path(run_folder), once.key_of(words, name=name, place=named_workdir(env)))
    made = once.Try(attempt=AttemptNo(int(attempt)), at=time.time(), host=platform.node())
    try:
        code, is_mine = once.wait_or_do(folder, made, _Doing(folder, words).run, pause=time.sleep)
    except OSError as exc:
        print(f"supervise: {folder} cannot be used ({exc.strerror}); {words[0]} runs all the same", file=sys.stderr)
        return _replaced_by(words)
    if not is_mine and code == 0 and not given.quiet and env.get("SLURM_PROCID", "0") == "0":
        print(f"supervise: done already in this run: {shlex.join(words)}", file=sys.stderr)
    return code


class _Doing:
    """The command, run by this caller."""

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        self._folder = folder
        self._words = list(words)

    def run(self, number: int, give_sign: Callable[[], None]) -> int:
        """Its exit code, as a shell says it; noted for the others. Signals are passed on to it."""
        code = self._ended(give_sign)
        try:
            once.end(self._folder, number, once.Done(code=code, at=time.time()))
        except OSError as exc:
            print(f"supervise: that {self._words[0]} is done cannot be noted ({exc.strerror})", file=sys.stderr)
        return code

    def _ended(self, give_sign: Callable[[], None]) -> int:
        try:
            process = subprocess.Popen(self._words)
        except OSError as exc:
            print(f"supervise: {self._words[0]}: {exc.strerror}", file=sys.stderr)
            return _NOT_FOUND if isinstance(exc, FileNotFoundError) else _NOT_STARTED

        def pass_on(number: int, _: Any) -> None:
            process.send_signal(number)

        for number in _PASSED_ON:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, pass_on)
        while True:
            try:
                code = process.wait(once.BEAT_S)
            except subprocess.TimeoutExpired:
                give_sign()
            else:
                return code if code >= 0 else 128 - code


def _replaced_by(words: Sequence[str]) -> int:
    """Does not return where the command can be started."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(words[0], list(words))  # noqa: S606  # no shell is wanted
    except OSError as exc:
        print(f"supervise: {words[0]}: {exc.strerror}", file=sys.stderr)
        return _NOT_FOUND if isinstance(exc, FileNotFoundError) else _NOT_STARTED
