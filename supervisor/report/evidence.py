"""Which of a verdict's evidence a screen shows. Pure."""

from collections.abc import Iterable
from typing import Final

from supervisor.model.verdict import Evidence

_ROLES: Final = ("root", "context", "echo")


def each_line_once(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Roots first, echoes last; a line that several signatures know stands for the most that it says."""
    kept: dict[tuple[str, str], Evidence] = {}
    for one in sorted(evidence, key=lambda one: _ROLES.index(one.role)):
        kept.setdefault((one.source, one.text), one)
    return list(kept.values())
