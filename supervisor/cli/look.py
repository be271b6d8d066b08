"""Started by `checkpoint_look` in a process of its own: what lies below a checkpoint URL, in one phrase on stdout."""

import sys
from typing import Final

from supervisor.checkpoint.find import find_newest
from supervisor.model.facts import Choice

_DEADLINE_S: Final = 5.0
"""The parent ends this process long before; this is for the case that the parent is gone."""


def phrase(choice: Choice) -> str:
    """`newest whole: step 41200`; nothing found is only said where the listing can be trusted."""
    if choice.chosen is not None:
        broken = len(choice.passed_over)
        return f"newest whole: step {choice.chosen.step}" + (f", {broken} newer not usable" if broken else "")
    if choice.is_trustworthy:
        return f"none yet: {choice.why}"
    return f"not readable: {choice.why}"


if __name__ == "__main__":
    print(phrase(find_newest(sys.argv[1], deadline_s=_DEADLINE_S)), flush=True)
