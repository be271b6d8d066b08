"""The documents as the tests read them: their code, their command lines, the tables in them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = sorted(
    [
        *(CHECKOUT / name for name in ("README.md", "AGENTS.md", "SECURITY.md")),
        *CHECKOUT.glob("docs/*.md"),
        *CHECKOUT.glob("docs/examples/*/README.md"),
    ]
)
"""Not CHANGELOG.md: what it tells of may be gone."""
_FENCED: Final = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMAND: Final = re.compile(r"(?:\$ )?((?:supervise(?= )|(?:\./)?scripts/[a-z]+(?![\w/.])).*)")
_MAY_STAND: Final = re.compile(r"\[[^\]]*\]|…")
"""`[options]` and the like: what may be left out."""


@dataclass(frozen=True)
class CommandLine:
    """A command as a page shows it, in words."""

    page: Path
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """`supervise`, or the name of a program in `scripts`."""
        return self.words[0].rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.page.relative_to(CHECKOUT)}: {shlex.join(self.words)}"


def name_of(page: Path) -> str:
    """As a person calls it."""
    return str(page.relative_to(CHECKOUT))


def text_of(name: str) -> str:
    """The text of a page."""
    return (CHECKOUT / name).read_text(encoding="utf-8")


def inline_code(text: str) -> list[str]:
    """What stands between single backticks, outside of blocks."""
    return _INLINE.findall(_FENCED.sub("", text))


def code(text: str) -> list[str]:
    """Lines of blocks, and what stands between backticks."""
    return [line for block in _FENCED.findall(text) for line in block.splitlines()] + inline_code(text)


def command_lines() -> list[CommandLine]:
    """Every command line of ours on any page, once."""
    found = {
        CommandLine(page, words)
        for page in PAGES
        for piece in code(page.read_text(encoding="utf-8"))
        if (match := _COMMAND.fullmatch(piece.strip())) and (words := _words(match[1]))
    }
    return sorted(found, key=str)


def section(name: str, title: str) -> str:
    """What stands on the page below `## title`."""
    found = text_of(name).partition(f"## {title}\n")[2].partition("\n## ")[0]
    assert found, f"{name} has no section {title}"
    return found


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """The rows of the tables in this text, without their heads."""
    lines = text.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        is_head_or_rule = re.fullmatch(r"[|\- ]+", line) or f"{line}\n|--" in text
        if line.startswith("| ") and before.startswith("|") and not is_head_or_rule:
            yield tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))


def files_in(text: str) -> list[str]:
    """File names between backticks, as a row about a folder lists them."""
    return re.findall(r"`([a-z]+\.(?:json|log|err))`", text)


def _words(line: str) -> tuple[str, ...]:
    """Without comments and without what only says that something follows."""
    words = shlex.split(line, comments=True)
    return tuple(word.rstrip("…") for word in words if not _MAY_STAND.fullmatch(word))
