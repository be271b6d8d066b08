"""The last lines of many ranks in one file, `ranks.log`, each behind its rank's label as `srun --label` writes it.

A run folder has room for few files, and an incident may have 128 ranks. Pure.
"""

import re
from collections.abc import Iterable
from typing import Final

from supervisor.diagnose.bundle import Log
from supervisor.diagnose.numbers import number_in
from supervisor.model.ids import Rank

FILE: Final = "ranks.log"
_NAMED: Final = re.compile(r"ranks/((?:task)?\d+)\.log")
_LABELLED: Final = re.compile(r"((?:task)?\d{1,7}): (.*)", re.DOTALL)


def is_tail(log: Log) -> bool:
    """The log is one rank's or one task's, and so belongs into the file."""
    return _NAMED.fullmatch(log.name) is not None


def joined(logs: Iterable[Log]) -> str:
    """The file's text: rank by rank, in the order given. Logs of anything else are left out."""
    named = [(match[1], log.lines) for log in logs if (match := _NAMED.fullmatch(log.name))]
    return "".join(f"{label}: {line}\n" for label, lines in named for line in lines)


def parted(lines: Iterable[str]) -> tuple[Log, ...]:
    """The logs that were joined, in the same order and under their own names.

    Line n of `ranks/3.log` is the n-th that is labelled `3: `. Lines without a label stay together as they are.
    """
    found: dict[str, list[str]] = {}
    for line in lines:
        match = _LABELLED.fullmatch(line)
        label, text = (match[1], match[2]) if match else ("", line)
        found.setdefault(label, []).append(text)
    return tuple(_log(label, texts) for label, texts in found.items())


def _log(label: str, lines: list[str]) -> Log:
    if not label:
        return Log(name=FILE, lines=tuple(lines))
    number = number_in(label)
    rank = Rank(number) if number is not None else None
    return Log(name=f"ranks/{label}.log", lines=tuple(lines), kind="ranks", rank=rank)
