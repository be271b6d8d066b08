"""What a person wants of a running job: `supervise halt`, `resume`, `mode`, `exclude`, `unexclude`."""

from typing import Literal

from supervisor.model.base import Fact
from supervisor.model.ids import NodeName


class PersonOrder(Fact, frozen=True, kw_only=True):
    """One order, as it lies in the run folder until the supervisor has carried it out."""

    id: str
    """Random: an order is carried out once, however often it is read."""
    at: float
    by: str
    """The user's name."""
    what: Literal["halt", "resume", "mode", "exclude", "unexclude"]
    is_now: bool = False
    """halt: stop at once, and not after the next checkpoint."""
    until: float | None = None
    """halt: at the latest then (epoch seconds)."""
    mode: Literal["", "act", "observe"] = ""
    nodes: tuple[NodeName, ...] = ()
    why: str = ""


class Answer(Fact, frozen=True, kw_only=True):
    """What became of an order."""

    text: str
    is_done: bool = True
    """False: nothing was changed, the text says why."""


def refused(text: str) -> Answer:
    """Nothing was changed."""
    return Answer(text=text, is_done=False)
