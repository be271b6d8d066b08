"""A log's last lines: those that somebody said. Stacks and tables that a launcher prints below them are left out."""

import re
from collections.abc import Sequence
from typing import Final

_LINES: Final = 12
_MOST: Final = 40
"""With the lines of tracebacks, which do not count."""
_CHARS: Final = 400
_SAYS_NOTHING: Final = re.compile(
    r"^\W*$|(?:^|[\s:\]])frame #\d{1,3}: |^(?:time {6}|host {6}|rank {6}|exitcode {2}|error_file|traceback ): |"
    r"^<NO_OTHER_FAILURES>$|^Failures:$|^\[\d{1,5}\]:$|^Root Cause \(first observed failure\):$|^supervise: "
)
"""Frames of libraries, rules between paragraphs, torchrun's table of failures, which signatures read, and what we said
ourselves: that we start again from a file does not make it the file that failed."""
_CODE: Final = re.compile(
    r'\bFile "[^"\n]{1,300}", line \d|^Traceback \(|^at [\w.$/<>]{3,200}\([^()\n]{0,120}\)|^\.{3} \d{1,3} more$|'
    r"^\S{1,80} +[0-9A-Fa-f]{12,16} +\S{1,80} +(?:Unknown|\d{1,6}) +\S|^\[\d{1,3}\] [^\s()]{1,80}\(|"
    r"^@ \w{1,40} \S+:\d{1,6}\b"
)
"""Lines of tracebacks: Python's, Java's, Intel Fortran's and Julia's."""


def last_lines(numbered: Sequence[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """The last lines that say something, with their numbers; what many ranks say is said once."""
    kept: list[tuple[int, str]] = []
    heard: set[str] = set()
    said = 0
    for at in range(len(numbered) - 1, -1, -1):
        number, text = numbered[at][0], _shown(numbered[at][1])
        if _SAYS_NOTHING.search(text) or text in heard:
            continue
        heard.add(text)
        is_code = _CODE.search(text) or (at > 0 and _CODE.search(_shown(numbered[at - 1][1])))
        said += not is_code
        if said > _LINES or len(kept) == _MOST:
            break
        kept.append((number, text))
    return tuple(reversed(kept))


def _shown(line: str) -> str:
    """As a terminal shows it: what came after the last carriage return."""
    return line.rpartition("\r")[2].strip()[:_CHARS]
