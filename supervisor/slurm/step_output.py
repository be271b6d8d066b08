"""Where an srun sends its tasks' output (`--output`, `--error`), read from its arguments. Pure."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from supervisor.slurm.sbatch_options import STANDARD, Table, Value, effective, parse

_NO_VALUE: Final = "exact label multi-prog no-allocate overlap preserve-env pty quit-on-interrupt unbuffered whole"
_WITH_VALUE: Final = """
cpu-bind epilog het-group jobid max-exit-timeout mpi msg-timeout prolog relative slurmd-debug task-epilog task-prolog
threads treewidth wait container-image container-mounts container-name container-workdir
"""
_TABLE: Final = Table(
    long={
        **STANDARD.long,
        **dict.fromkeys(_NO_VALUE.split(), Value.NONE),
        **dict.fromkeys(_WITH_VALUE.split(), Value.REQUIRED),
        **dict.fromkeys(("bcast", "compress", "kill-on-bad-exit", "send-libs", "x11"), Value.OPTIONAL),
    },
    short=MappingProxyType(
        {
            **STANDARD.short,
            "E": "preserve-env",
            "K": "kill-on-bad-exit",
            "T": "threads",
            "W": "wait",
            "Z": "no-allocate",
            "l": "label",
            "r": "relative",
            "u": "unbuffered",
            "X": "quit-on-interrupt",
        }
    ),
)
_SPECIAL: Final = frozenset({"", "all", "none", "/dev/null"})
_SPEC: Final = re.compile(r"%(\d*)([AaJjNnstux%])")
_NUMBERS: Final = frozenset("Aajnst")


@dataclass(frozen=True, slots=True)
class Pattern:
    """The files that one option names."""

    glob: str
    """Absolute."""
    regex: str
    """Which of the globbed are meant; the group `rank`, where each task has a file of its own."""

    @property
    def is_by_rank(self) -> bool:
        """Each task has a file of its own."""
        return "(?P<rank>" in self.regex

    def rank(self, path: str) -> int | None:
        """Whose file this is; -1: everybody's; None: it is not meant."""
        match = re.fullmatch(self.regex, path)
        if match is None:
            return None
        return int(match["rank"]) if self.is_by_rank else -1


def patterns(argv: Sequence[str], cwd: str) -> tuple[Pattern, ...]:
    """Of an srun with this command line, standard output first."""
    options = effective(parse(argv[1:], _TABLE).options)
    base = _joined(cwd, options.get("chdir") or cwd)
    named = [options.get(name, "") for name in ("output", "error")]
    return tuple(
        dict.fromkeys(_pattern(_joined(base, name)) for name in named if name not in _SPECIAL and not name.isdecimal())
    )


def _joined(base: str, name: str) -> str:
    return os.path.normpath(os.path.join(base, name))  # noqa: PTH118  # texts: a link is srun's to follow


def _pattern(name: str) -> Pattern:
    """`%t` is the rank; what Slurm alone knows stands for anything."""
    glob, regex, at = "", "", 0
    for match in _SPEC.finditer(name):
        literal, letter, at = name[at : match.start()], match[2], match.end()
        glob += _escaped(literal)
        regex += re.escape(literal)
        if letter == "%":
            glob, regex = glob + "%", regex + "%"
            continue
        glob += "*"
        if letter == "t" and "(?P<rank>" not in regex:
            regex += r"(?P<rank>\d{1,7})"
        else:
            regex += r"\d+" if letter in _NUMBERS else r"[^/]*"
    return Pattern(glob + _escaped(name[at:]), regex + re.escape(name[at:]))


def _escaped(text: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", text)


def by_rank(found: Mapping[str, Pattern]) -> dict[int, list[str]]:
    """Files by rank, -1 for everybody's, each list in the order given."""
    ranks: dict[int, list[str]] = {}
    for path, pattern in found.items():
        rank = pattern.rank(path)
        if rank is not None:
            ranks.setdefault(rank, []).append(path)
    return ranks
