"""Started by `checkpoint_look` in a process of its own: what lies below a checkpoint URL, in one phrase on stdout."""

import sys
from pathlib import Path
from typing import Final

from supervisor.checkpoint.find import find_newest
from supervisor.model.facts import Choice

WARNING: Final = "WARNING: "
_DEADLINE_S: Final = 5.0
"""The parent ends this process long before; this is for the case that the parent is gone."""


def phrase(url: str, choice: Choice) -> str:
    """`newest whole: step 41200`; one that begins with `WARNING` is about a place that looks wrong.

    Nothing found is only said where the listing can be trusted.
    """
    if choice.chosen is not None:
        broken = len(choice.passed_over)
        return f"newest whole: step {choice.chosen.step}" + (f", {broken} newer not usable" if broken else "")
    why = choice.why.removeprefix(f"{url}: ")
    if not choice.is_trustworthy:
        return f"{WARNING}cannot be read from here: {why}"
    if missing := _missing_parent(url):
        return f"{WARNING}there is no {missing} here"
    return "no checkpoint yet: " + (f"it {why.removeprefix(url).lstrip()}" if why.startswith(url) else why)


def _missing_parent(url: str) -> str:
    """The folder that a checkpoint folder would have to be made in, where that is missing: rather a wrong path."""
    path = Path(url.removeprefix("file://"))
    if "://" in str(path) or not path.is_absolute() or path.parent.exists():
        return ""
    return str(path.parent)


if __name__ == "__main__":
    print(phrase(sys.argv[1], find_newest(sys.argv[1], deadline_s=_DEADLINE_S)), flush=True)
