"""Names and words of others, as they may stand in a terminal or a command."""

import re
from functools import lru_cache
from typing import Final

_NODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_WORD: Final = re.compile(r"[^A-Za-z0-9_.,:;=+@%/()\[\]<>' -]")


@lru_cache(maxsize=65_536)
def is_node(name: str) -> bool:
    """Slurm could call a node so. Whatever is called otherwise is none, and counts as none."""
    return _NODE.fullmatch(name) is not None


def word(text: str, most: int = 64) -> str:
    """On one line, without what steers a terminal or a shell, and not too long."""
    return _WORD.sub("?", text)[:most]
