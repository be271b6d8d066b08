"""How the keeper gets into a script: one guard before its first command, on the same line. Pure.

Outside an attempt the guard replaces the batch shell by the keeper; inside an attempt, or where the keeper cannot run,
it does nothing. `$0`, arguments and line numbers stay the user's.
"""

import re
import shlex
from dataclasses import dataclass
from typing import Final

from supervisor.slurm.directives import SPACE, first_command

_SHELL: Final = re.compile(r"(?:|a|ba|da|k|lk|mk|ok|pdk|ya|z)sh[\d.]*")
_ASSIGNMENT: Final = re.compile(r"\w+=")
# The first lines of scripts that two interpreters read: sh runs `''''exec python3 "$0"`, Python sees a string.
_POLYGLOT: Final = re.compile(r"\s*(?:''|\"\"|eval\b|exec\b).*\$(?:0|\{0)")
# Both guards, and what stands behind one in the wrapper of a script in another language.
_CARRIED: Final = re.compile(
    r'(?:\{ )?\[ -n "\$\{SUPERVISE_ATTEMPT-\}" \] \|\| \[ ! -x [^\n]*? \|\| exec [^\n]*? "\$0" "\$@"; '
    r'(?:script=[^\n]*\n\[ -r "\$script" \][^\n]*\n)?'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A script that starts the keeper."""

    text: str
    needs_file: bool = False
    """Another interpreter than a shell: the user's script must lie where the wrapper looks for it."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """What the `#!` line says."""

    words: tuple[str, ...]
    """As the kernel starts it: the program and at most one argument."""

    @property
    def is_shell(self) -> bool:
        """It reads the language of the guard."""
        return _SHELL.fullmatch(self._program()) is not None

    @property
    def is_traced(self) -> bool:
        """It prints each command before it runs it (`-x`)."""
        return any(re.fullmatch(r"-[a-zA-Z]*x[a-zA-Z]*", word) for word in self._all())

    def _all(self) -> list[str]:
        return [part for word in self.words for part in word.split()]

    def _program(self) -> str:
        """Its name; behind `env` the first word that is neither option nor assignment, behind busybox the applet."""
        rest = [word.rsplit("/", 1)[-1] for word in self._all()]
        if rest and rest[0] in {"env", "busybox"}:
            rest = [word for word in rest[1:] if not word.startswith("-") and not _ASSIGNMENT.match(word)]
        return rest[0] if rest else ""


def interpreter(text: str) -> Interpreter | None:
    """The script's `#!` line as the kernel reads it; None where there is none (sbatch refuses such a script)."""
    line = text.split("\n", 1)[0]
    words = line[2:].split(maxsplit=1) if line.startswith("#!") else []
    return Interpreter(tuple(word.rstrip() for word in words)) if words else None


def carry(text: str, *, keeper: str, file: str) -> Carried | None:
    """The script with the guard; None where it has no command at all.

    `keeper` is the path that the guard starts, `file` where the user's own script will lie if it `needs_file`.
    """
    lines = text.split("\n")
    at, program = first_command(lines), interpreter(text)
    if at is None or program is None:
        return None
    if not program.is_shell or _POLYGLOT.match(lines[at]):
        return Carried(text=_wrapper(text, lines[:at], program, keeper=keeper, file=file), needs_file=True)
    indent = len(lines[at]) - len(lines[at].lstrip(SPACE))
    lines[at] = f"{lines[at][:indent]}{guard(keeper, is_traced=program.is_traced)}{lines[at][indent:]}"
    return Carried(text="\n".join(lines))


def guard(keeper: str, *, is_traced: bool = False) -> str:
    """The guard itself, with the blank that parts it from the command behind it.

    `${…-}` holds under `#!/bin/bash -u` too. Under `-x` the guard's own lines are kept out of the job's output.
    """
    path = quote(keeper)
    if is_traced:
        tests = f'{{ [ -n "${{SUPERVISE_ATTEMPT-}}" ] || [ ! -x {path} ] || ! set +x; }} 2>/dev/null'
        return f'{tests} || exec {path} "$0" "$@"; '
    return f'[ -n "${{SUPERVISE_ATTEMPT-}}" ] || [ ! -x {path} ] || exec {path} "$0" "$@"; '


def without_guard(text: str) -> str:
    """The script as its user wrote it, from the text that was submitted."""
    return _CARRIED.sub("", text, count=1)


def quote(path: str) -> str:
    """The path as one word of any shell, on one line: a newline in it would move the user's line numbers."""
    if "\n" not in path and "\r" not in path:
        return shlex.quote(path)
    escaped = path.replace("\\", "\\\\").replace("\n", "\\0012").replace("\r", "\\0015")
    return f'"$(printf %b {shlex.quote(escaped)})"'


def _wrapper(text: str, header: list[str], program: Interpreter, *, keeper: str, file: str) -> str:
    """A small sh script in front of the user's: `#!`, the user's `#SBATCH` lines, guard, and the real interpreter.

    The user's text follows behind the `exec`, where sh never comes to: should `file` be out of reach on the node, it
    is taken from there, so that the job runs all the same.
    """
    body = len(header) + 4
    command = " ".join(map(shlex.quote, program.words))
    return "\n".join(
        [
            "#!/bin/sh",
            *header[1:],
            f"{guard(keeper)}script={quote(file)}",
            f'[ -r "$script" ] || {{ script=$(mktemp) && tail -n +{body} "$0" >"$script"; }}',
            f'exec {command} "$script" "$@"',
            text,
        ]
    )
