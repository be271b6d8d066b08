"""Small sums of the report's fold that can be added to each other. Pure."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Final

PARTS: Final = ("decide", "stop", "launch", "init", "catch_up")
"""Of a recovery, from the verdict to the furthest step again."""
LONGEST_S: Final = 1e7
"""Four months: what claims to have taken longer is no measurement."""


@dataclass(slots=True)
class Held:
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


@dataclass(slots=True)
class Use:
    """Node time held, and the part of it that brought a run further."""

    held_s: float = 0.0
    computing_s: float = 0.0
    interruptions: int = 0

    def add(self, other: "Use") -> None:
        """Both together."""
        self.held_s += other.held_s
        self.computing_s += other.computing_s
        self.interruptions += other.interruptions

    @property
    def ratio(self) -> float | None:
        """Computing over held; None where nothing was held."""
        return min(1.0, self.computing_s / self.held_s) if self.held_s > 0 else None


@dataclass(slots=True)
class RunSum:
    """One run, over its jobs."""

    use: Use
    last_at: float
    job: str
    """The newest one."""
    user: str
    open_at: float | None = None
    """When it came to a stop that nobody has taken up since."""
    why: tuple[str, str, str] = ("", "", "")
    """Class, cause, node of that stop."""

    def add(self, other: "RunSum") -> None:
        """Both together: the newer one tells how the run stands."""
        self.use.add(other.use)
        if (other.last_at, other.job) > (self.last_at, self.job):
            self.last_at, self.job, self.user = other.last_at, other.job, other.user
            self.open_at, self.why = other.open_at, other.why


@dataclass(slots=True)
class Times:
    """Durations of interruptions in seconds."""

    detect: list[float] = field(default_factory=list)
    isolate: list[float] = field(default_factory=list)
    recover: list[float] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    isolated_to: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Times") -> None:
        """Both together."""
        self.detect += other.detect
        self.isolate += other.isolate
        self.recover += other.recover
        for name, seconds in other.parts.items():
            self.parts[name] += seconds
        self.isolated_to += other.isolated_to

    def sort(self) -> None:
        """Done by who has made a part, since putting sorted parts together is quick; what cannot be is dropped."""
        for seconds in (self.detect, self.isolate, self.recover):
            seconds.sort()
            del seconds[bisect_left(seconds, LONGEST_S) :]
            del seconds[: bisect_left(seconds, 0.0)]


Cell = list[float]
"""Interruptions, those for a person, lost node-seconds, lost joules."""
Cells = defaultdict[tuple[str, int], defaultdict[str | float, Cell]]
"""By class and GPUs on each node of the job, then by what the histogram is of."""


def new_cell() -> Cell:
    """Nothing yet."""
    return [0, 0, 0.0, 0.0]


def _new_rows() -> defaultdict[str | float, Cell]:
    return defaultdict(new_cell)


def new_cells() -> Cells:
    """No rows yet."""
    return defaultdict(_new_rows)


def add_cell(rows: MutableMapping[str | float, Cell], key: str | float, cell: Cell) -> None:
    """One more."""
    known = rows[key]
    known[0] += cell[0]
    known[1] += cell[1]
    known[2] += cell[2]
    known[3] += cell[3]


def add_cells(mine: Cells, theirs: Cells) -> None:
    """Both together."""
    for head, rows in theirs.items():
        known = mine[head]
        for key, cell in rows.items():
            add_cell(known, key, cell)
