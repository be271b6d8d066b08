"""A cause as a person types it. Pure."""

from difflib import get_close_matches
from typing import Final

from supervisor.cli.answer import json_answer
from supervisor.diagnose.taxonomy import Cause, causes
from supervisor.errors import UsageError
from supervisor.model.verdict import Class
from supervisor.report.words import table

ASK: Final = "?"
"""In place of a cause: which are there?"""


def all_causes() -> list[str]:
    """A line for each cause, as it is typed, and what it says."""
    return table(("CAUSE", "SAYS"), [(f"{one.cls}/{one.name}", one.row.says) for one in causes().values()])


def causes_json() -> str:
    """The same for a script."""
    found = [{"class": str(one.cls), "cause": one.name, "says": one.row.says} for one in causes().values()]
    return json_answer(conclusion=f"There are {len(found)} causes.", causes=found)


def known_cause(name: str, cls: str | None = None) -> Cause:
    """The cause of this name, also as `class/cause`. Raises `UsageError` with what was probably meant."""
    head, _, tail = name.strip().lower().replace("-", "_").rpartition("/")
    found = causes().get(tail)
    if found is None:
        close = get_close_matches(tail, list(causes()), n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(close)}?" if close else "all of them: supervise feedback --cause '?'"
        raise UsageError(f"{name!r} is no cause of the taxonomy; {meant}")
    for wanted in filter(None, (head, cls)):
        _check(found, wanted)
    return found


def _check(found: Cause, wanted: str) -> None:
    classes = [str(one) for one in Class]
    if wanted.lower() not in classes:
        raise UsageError(f"{wanted!r} is no class; there are {', '.join(classes)}")
    if wanted.lower() != found.cls:
        raise UsageError(
            f"{found.name} is of class {found.cls}, not {wanted}; leave --class away, or name another cause"
        )
