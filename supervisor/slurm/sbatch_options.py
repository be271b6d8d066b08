"""Arguments of sbatch split into options, script and the script's arguments, exactly as sbatch splits them.

sbatch uses `getopt_long` and stops at the first argument that is no option; long names may be cut short. Pure.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from supervisor.slurm.sbatch_table import (
    NO_VALUE,
    OPTIONAL_VALUE,
    PLAIN_VARIABLES,
    REQUIRED_VALUE,
    SAME,
    VARIABLES,
)


class Value(Enum):
    """Whether an option takes a value."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Table:
    """The options that an sbatch knows."""

    long: Mapping[str, Value]
    short: Mapping[str, str]
    """Letter to long name."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option as sbatch understands it, under its full name."""

    name: str
    value: str | None = None

    def __str__(self) -> str:
        return f"--{self.name}" if self.value is None else f"--{self.name}={self.value}"


@dataclass(frozen=True, slots=True)
class Piece:
    """One or two arguments that belong together (`-N`, `2`), and the options in them (`-vH` has two)."""

    tokens: tuple[str, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What stands after `sbatch`."""

    pieces: tuple[Piece, ...]
    script: str | None = None
    """None: the script is on stdin or in `--wrap`."""
    script_args: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Options that the table does not have: where the script begins is then not certain."""
    ends_with_dashes: bool = False
    """`--` stood before the script."""

    @property
    def options(self) -> tuple[Option, ...]:
        """All options in order."""
        return tuple(option for piece in self.pieces for option in piece.options)

    @property
    def is_heterogeneous(self) -> bool:
        """Components of a heterogeneous job are parted by `:`."""
        return any(piece.tokens == (":",) for piece in self.pieces)

    def has(self, names: Collection[str]) -> bool:
        """One of these options was given."""
        return any(option.name in names for option in self.options)

    def without(self, names: Collection[str]) -> tuple[str, ...]:
        """The option arguments without these options; all others stay as they were typed."""
        return tuple(token for piece in self.pieces for token in _remaining(piece, names))


def standard_table() -> Table:
    """The options of all supported releases together."""
    long: dict[str, Value] = {}
    short: dict[str, str] = {}
    for kind, names in ((Value.NONE, NO_VALUE), (Value.OPTIONAL, OPTIONAL_VALUE), (Value.REQUIRED, REQUIRED_VALUE)):
        for entry in names.split():
            name, _, letter = entry.partition("/")
            long[name] = kind
            if letter:
                short[letter] = name
    return Table(long=long, short=short)


STANDARD: Final = standard_table()
_PLUGIN_OPTION: Final = re.compile(r"^\s+--([A-Za-z0-9][\w-]*)(\[?=)?", re.MULTILINE)


def with_plugins(help_text: str, table: Table = STANDARD) -> Table:
    """The table with the options that a site's plugins add, read from what `sbatch --help` prints about them."""
    _, _, added = help_text.partition("Options provided by plugins:")
    found = {
        name: {"": Value.NONE, "=": Value.REQUIRED, "[=": Value.OPTIONAL}[equals]
        for name, equals in _PLUGIN_OPTION.findall(added)
    }
    return Table(long={**found, **table.long}, short=table.short)


def parse(args: Sequence[str], table: Table = STANDARD) -> CommandLine:
    """The arguments after `sbatch`, split. Never raises: what sbatch would refuse is left for sbatch to refuse."""
    pieces: list[Piece] = []
    unknown: list[str] = []
    at = 0
    while at < len(args) and (args[at] == ":" or (args[at].startswith("-") and args[at] not in {"-", "--"})):
        following = args[at + 1] if at + 1 < len(args) else None
        piece = _piece(args[at], following, table, unknown)
        pieces.append(piece)
        at += len(piece.tokens)
    has_dashes = at < len(args) and args[at] == "--"
    rest = args[at + has_dashes :]
    return CommandLine(
        pieces=tuple(pieces),
        script=rest[0] if rest else None,
        script_args=tuple(rest[1:]),
        unknown=tuple(unknown),
        ends_with_dashes=has_dashes,
    )


def options_of_environment(env: Mapping[str, str]) -> list[Option]:
    """The options that `SBATCH_*` variables give: they beat `#SBATCH` lines and yield to the command line."""
    names = {**{f"SBATCH_{name.upper().replace('-', '_')}": name for name in PLAIN_VARIABLES.split()}, **VARIABLES}
    return [Option(name, env[variable]) for variable, name in sorted(names.items()) if variable in env]


def effective(*sources: Iterable[Option]) -> dict[str, str]:
    """The last word on each option: later sources beat earlier ones. An option without a value has an empty one."""
    return {option.name: option.value or "" for source in sources for option in source}


def _piece(word: str, following: str | None, table: Table, unknown: list[str]) -> Piece:
    if word == ":":
        return Piece((word,))
    if word.startswith("--"):
        return _long(word, following, table, unknown)
    return _shorts(word, following, table, unknown)


def _long(word: str, following: str | None, table: Table, unknown: list[str]) -> Piece:
    """`--name`, `--name=value`, `--name value`, each with the name cut short as long as it is clear."""
    given, equals, value = word[2:].partition("=")
    name, kind = _full_name(given, table)
    if kind is None:
        unknown.append(f"--{given}")
        return Piece((word,), (Option(given, value if equals else None),))
    if equals:
        return Piece((word,), (Option(name, value),))
    if kind is Value.REQUIRED and following is not None:
        return Piece((word, following), (Option(name, following),))
    return Piece((word,), (Option(name),))


def _full_name(given: str, table: Table) -> tuple[str, Value | None]:
    if given in table.long:
        return SAME.get(given, given), table.long[given]
    candidates = {SAME.get(name, name): kind for name, kind in table.long.items() if given and name.startswith(given)}
    if len(candidates) == 1:
        return next(iter(candidates.items()))
    return given, None


def _shorts(word: str, following: str | None, table: Table, unknown: list[str]) -> Piece:
    """`-N2`, `-N 2`, `-vH`, `-vN2`."""
    options: list[Option] = []
    for at, letter in enumerate(word[1:], start=1):
        name = table.short.get(letter)
        if name is None:
            unknown.append(f"-{letter}")
            continue
        kind, rest = table.long[name], word[at + 1 :]
        if kind is Value.NONE:
            options.append(Option(name))
        elif rest or kind is Value.OPTIONAL or following is None:
            return Piece((word,), (*options, Option(name, rest or None)))
        else:
            return Piece((word, following), (*options, Option(name, following)))
    return Piece((word,), tuple(options))


def _remaining(piece: Piece, names: Collection[str]) -> Iterator[str]:
    if any(option.name in names for option in piece.options):
        yield from (str(option) for option in piece.options if option.name not in names)
    else:
        yield from piece.tokens
