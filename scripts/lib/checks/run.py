"""Runs programs one after the other and says which failed."""

import signal
import subprocess
import sys
from pathlib import Path

from product.venv import CHECKOUT

_LINT_S = 900


def lint(python: Path) -> int:
    """Format, rules and types; 0 when all are clean."""
    commands = [
        [str(python), "-m", "ruff", "format", "--check", "."],
        [str(python), "-m", "ruff", "check", "."],
        [str(python), "-m", "mypy"],
    ]
    return max(call(command, deadline_s=_LINT_S) for command in commands)


def tests(python: Path, arguments: list[str], *, deadline_s: float) -> int:
    """Run pytest with these arguments; 0 when all pass."""
    return call([str(python), "-m", "pytest", *arguments], deadline_s=deadline_s)


def call(command: list[str], *, deadline_s: float) -> int:
    """The exit code of the command, run in the checkout; 124 where it took too long."""
    print(f"+ {' '.join([Path(command[0]).name, *command[1:]])}", file=sys.stderr, flush=True)
    with subprocess.Popen(command, cwd=CHECKOUT) as process:
        try:
            return process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            # INT lets pytest print what it has and its fixtures take their clusters down.
            process.send_signal(signal.SIGINT)
            print(f"took longer than {deadline_s:.0f} s: {' '.join(command)}", file=sys.stderr)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
        return 124
