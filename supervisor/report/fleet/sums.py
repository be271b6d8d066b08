"""Small sums of the report's fold that can be added to each other. Pure.

Those that there is one of for each job are structs: twenty thousand of them come from another process.
"""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

K = TypeVar("K")
PARTS: Final = ("decide", "stop", "launch", "init", "catch_up")
"""Of a recovery, from the verdict to the furthest step again."""
LONGEST_S: Final = 1e7
"""Four months: what claims to have taken longer is no measurement."""

RunKey = tuple[str, str, str]
"""Cluster, user, run: another user may call his run the same, and so may another cluster."""


class Held(msgspec.Struct, gc=False):
    """Node time of jobs."""

    jobs: int = 0
    job_s: float = 0.0
    node_s: float = 0.0
    interruptions: int = 0

    def add(self, other: "Held") -> None:
        """Both together."""
        self.jobs += other.jobs
        self.job_s += other.job_s
        self.node_s += other.node_s
        self.interruptions += other.interruptions


class Use(msgspec.Struct, gc=False):
    """Node time held, and the part of it that brought a run further."""

    held_s: float = 0.0
    computing_s: float = 0.0

    def add(self, other: "Use") -> None:
        """Both together."""
        self.held_s += other.held_s
        self.computing_s += other.computing_s

    @property
    def ratio(self) -> float | None:
        """Computing over held; None where nothing was held."""
        return min(1.0, self.computing_s / self.held_s) if self.held_s > 0 else None


class RunSum(Use, gc=False):
    """One run, over its jobs."""

    interruptions: int = 0
    last_at: float = 0.0
    job: str = ""
    """The newest one."""
    user: str = ""
    open_at: float | None = None
    """When it came to a stop that nobody has taken up since."""
    why: tuple[str, str, str] = ("", "", "")
    """Class, cause, node of that stop."""

    def join(self, other: "RunSum") -> None:
        """Both together: the newer one tells how the run stands."""
        self.add(other)
        self.interruptions += other.interruptions
        if (other.last_at, other.job) > (self.last_at, self.job):
            self.last_at, self.job, self.user = other.last_at, other.job, other.user
            self.open_at, self.why = other.open_at, other.why


@dataclass(slots=True)
class Durations:
    """In seconds, in parts that are sorted, each by who has made it: they are never put together."""

    parts: list["array[float]"] = field(default_factory=list)

    def take(self, seconds: "array[float]") -> None:
        """A part more; what cannot be is dropped."""
        ordered = sorted(seconds)
        if found := ordered[bisect_left(ordered, 0.0) : bisect_left(ordered, LONGEST_S)]:
            self.parts.append(array("d", found))


@dataclass(slots=True)
class Times:
    """Durations of interruptions in seconds."""

    detect: Durations = field(default_factory=Durations)
    isolate: Durations = field(default_factory=Durations)
    recover: Durations = field(default_factory=Durations)
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    isolated_to: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Times") -> None:
        """Both together."""
        self.detect.parts += other.detect.parts
        self.isolate.parts += other.isolate.parts
        self.recover.parts += other.recover.parts
        for name, seconds in other.parts.items():
            self.parts[name] += seconds
        self.isolated_to.update(other.isolated_to)


Cell = list[float]
"""Interruptions, those for a person, lost node-seconds, lost joules."""


def new_cell() -> Cell:
    """Nothing yet."""
    return [0, 0, 0.0, 0.0]


def _new_rows() -> "defaultdict[Any, Cell]":
    return defaultdict(new_cell)


Whose = tuple[str, str, int]
"""User, partition and class of size: what all interruptions of a job have in common."""


@dataclass(slots=True)
class Histograms:
    """Of interruptions of one class in jobs with as many GPUs on each node."""

    causes: defaultdict[str, Cell] = field(default_factory=_new_rows)
    nodes: defaultdict[str, Cell] = field(default_factory=_new_rows)
    """By the node most to blame."""
    days: defaultdict[float, Cell] = field(default_factory=_new_rows)
    """Since the epoch, UTC."""
    jobs: defaultdict[Whose, Cell] = field(default_factory=_new_rows)

    def add(self, other: "Histograms") -> None:
        """Both together."""
        _add_rows(self.causes, other.causes)
        _add_rows(self.nodes, other.nodes)
        _add_rows(self.days, other.days)
        _add_rows(self.jobs, other.jobs)


Sums = defaultdict[tuple[str, int], Histograms]
"""By class and GPUs on each node."""


def new_sums() -> Sums:
    """Nothing yet."""
    return defaultdict(Histograms)


def _add_rows(mine: defaultdict[K, Cell], theirs: Mapping[K, Cell]) -> None:
    for key, cell in theirs.items():
        known = mine[key]
        for index, value in enumerate(cell):
            known[index] += value
