"""`#SBATCH` and `#SUPERVISE` lines of a script, read as Slurm reads them: only before the first command. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.slurm.sbatch_options import STANDARD, Option, Table, parse
from supervisor.slurm.sbatch_table import COMMAND_LINE_ONLY

SBATCH: Final = "#SBATCH"
SUPERVISE: Final = "#SUPERVISE"
SPACE: Final = " \t\v\f\r"
"""What separates words, as `isspace` says in the C locale."""
_QUOTES: Final = "\"'"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a directive."""

    line: int
    """Counted from 1."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """What a script asks for in its own lines."""

    sbatch: tuple[Argument, ...] = ()
    """Of the first component, as sbatch would see them on a command line."""
    supervise: tuple[Argument, ...] = ()
    is_heterogeneous: bool = False
    is_refused: bool = False
    """sbatch refuses the lines (an unmatched quote, a stray `:`); its own words are the best ones."""
    late: tuple[int, ...] = ()
    """Lines with `#SUPERVISE` after the first command: nobody reads them."""

    def options(self, table: Table = STANDARD) -> tuple[Option, ...]:
        """The `#SBATCH` options that sbatch obeys."""
        parsed = parse([argument.text for argument in self.sbatch], table)
        return tuple(option for option in parsed.options if option.name not in COMMAND_LINE_ONLY)

    def unknown(self, table: Table = STANDARD) -> tuple[str, ...]:
        """Options of `#SBATCH` lines that the table does not have."""
        return parse([argument.text for argument in self.sbatch], table).unknown


def first_command(lines: Sequence[str]) -> int | None:
    """Index of the first line that is neither blank nor a comment: there Slurm stops reading, and the shell begins."""
    return next((at for at, line in enumerate(lines) if line.strip(SPACE) and not _is_comment(line)), None)


def parse_directives(text: str) -> Directives:
    """The directives of a script. Never raises."""
    lines = text.split("\n")
    end = first_command(lines)
    sbatch: list[Argument] = []
    supervise: list[Argument] = []
    component, is_refused = 0, False
    for number, line in enumerate(lines[:end], start=1):
        if line.startswith(SBATCH):
            component += _begins_component(line)
            if component == 0:
                arguments = split_arguments(line[len(SBATCH) :])
                is_refused |= arguments is None
                sbatch += [Argument(number, argument) for argument in arguments or ()]
        elif _is_supervise(line):
            supervise += [Argument(number, word) for word in split_arguments(line[len(SUPERVISE) :]) or ()]
    late = () if end is None else tuple(n for n, line in enumerate(lines[end:], start=end + 1) if _is_supervise(line))
    return Directives(
        sbatch=tuple(sbatch),
        supervise=tuple(supervise),
        is_heterogeneous=component > 0,
        is_refused=is_refused,
        late=late,
    )


def split_arguments(text: str) -> list[str] | None:
    """The arguments of a directive by sbatch's rules, which are not the shell's; None where sbatch would refuse it.

    Quotes of both kinds group, a backslash takes the next character as it is (inside quotes too), an unquoted `#`
    starts a comment, and an empty argument ends the line.
    """
    found: list[str] = []
    at = 0
    while at < len(text):
        while at < len(text) and text[at] in SPACE:
            at += 1
        if text.startswith(":", at):
            return None
        argument, at, is_open = _argument(text, at)
        if is_open:
            return None
        if not argument:
            break
        found.append(argument)
    return found


def masked(text: str, names: Collection[str], table: Table = STANDARD) -> str:
    """The script with these options taken out of its `#SBATCH` lines; every other line and all line numbers stay."""
    directives = parse_directives(text)
    if directives.is_heterogeneous or directives.is_refused:
        return text
    lines = text.split("\n")
    for number, words in _changed_lines(directives.sbatch, names, table):
        lines[number - 1] = " ".join([SBATCH, *map(_quoted, words)]) if words else "#"
    return "\n".join(lines)


def _changed_lines(
    arguments: Sequence[Argument], names: Collection[str], table: Table
) -> Iterator[tuple[int, list[str]]]:
    """Number and remaining arguments of each line that loses an option (an option's value may be on the next line)."""
    parsed = parse([argument.text for argument in arguments], table)
    kept: dict[int, list[str]] = {argument.line: [] for argument in arguments}
    changed: set[int] = set()
    at = 0
    for piece in parsed.pieces:
        own = arguments[at : at + len(piece.tokens)]
        at += len(piece.tokens)
        if any(option.name in names for option in piece.options):
            changed |= {argument.line for argument in own}
            kept[own[0].line] += [str(option) for option in piece.options if option.name not in names]
        else:
            for argument in own:
                kept[argument.line].append(argument.text)
    yield from ((line, kept[line]) for line in sorted(changed))


def _argument(text: str, at: int) -> tuple[str, int, bool]:
    """One argument from `at`: its text, where it ends, and whether a quote stayed open."""
    out: list[str] = []
    quote = ""
    while at < len(text) and (quote or text[at] not in SPACE):
        char = text[at]
        if char == "\\":
            out.append(text[at + 1 : at + 2])
            at += 2
            continue
        if quote and char == quote:
            quote = ""
        elif not quote and char in _QUOTES:
            quote = char
        elif not quote and char == "#":
            return "".join(out), at, False
        else:
            out.append(char)
        at += 1
    return "".join(out), min(at, len(text)), bool(quote)


def _quoted(word: str) -> str:
    """An argument that `split_arguments` reads back unchanged."""
    return "".join(f"\\{char}" if char in SPACE + _QUOTES + "#\\" else char for char in word)


def _begins_component(line: str) -> bool:
    words = line[len(SBATCH) :].split(maxsplit=1)
    return bool(words) and words[0].lower() in {"hetjob", "packjob"}


def _is_comment(line: str) -> bool:
    return line.lstrip(SPACE).startswith("#")


def _is_supervise(line: str) -> bool:
    return line.startswith(SUPERVISE) and (len(line) == len(SUPERVISE) or line[len(SUPERVISE)] in SPACE)
