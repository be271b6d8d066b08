"""Runs programs one after the other, or some at once, and says which failed."""

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from product.venv import CHECKOUT

_LINT_S = 900
_COMPILE_S = 300
_BY_SIGNAL = 128
_COMPILED = ("supervisor", "scripts/lib")


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
    return call(pytest(python, arguments), deadline_s=deadline_s)


def pytest(python: Path, arguments: list[str]) -> list[str]:
    """The command for these arguments."""
    return [str(python), "-m", "pytest", *arguments]


def compile_product(python: Path) -> None:
    """Keep the bytecode, as an installation does: users of the testbed cannot, and would compile it at each start."""
    command = [str(python), "-m", "compileall", "-q", *_COMPILED]
    subprocess.run(command, cwd=CHECKOUT, env=environment(), check=False, timeout=_COMPILE_S)


def environment() -> dict[str, str]:
    """Ours, but Python may keep its bytecode: without it each of the many processes compiles all it imports."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def beside(first: list[str], *others: list[str], deadline_s: float) -> int:
    """The largest exit code of commands that run at once; what the others print is shown when all have ended."""
    with ExitStack() as files:
        words = [files.enter_context(tempfile.TemporaryFile()) for _ in others]
        try:
            with ThreadPoolExecutor(len(others)) as pool:
                told = [
                    pool.submit(call, command, deadline_s=deadline_s, output=output)
                    for command, output in zip(others, words, strict=True)
                ]
                code = call(first, deadline_s=deadline_s)
                return max(code, *(one.result() for one in told))
        finally:
            for output in words:
                output.seek(0)
                sys.stdout.write(output.read().decode(errors="replace"))
            sys.stdout.flush()


def call(command: list[str], *, deadline_s: float, output: IO[bytes] | None = None) -> int:
    """The command's exit code, run in the checkout; 124 where it took too long, above 128 where a signal ended it."""
    print(f"+ {' '.join([Path(command[0]).name, *command[1:]])}", file=sys.stderr, flush=True)
    errors = subprocess.STDOUT if output else None
    with subprocess.Popen(command, cwd=CHECKOUT, env=environment(), stdout=output, stderr=errors) as process:
        try:
            code = process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            # INT lets pytest print what it has and its fixtures take their clusters down.
            process.send_signal(signal.SIGINT)
            print(f"took longer than {deadline_s:.0f} s: {' '.join(command)}", file=sys.stderr)
        else:
            return code if code >= 0 else _BY_SIGNAL - code
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
        return 124
