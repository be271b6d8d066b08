"""What is asked about nodes and what is answered, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["ok", "watch", "suspect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The window of a look at the nodes."""

    since: float
    until: float
    returned: Mapping[str, float] = field(default_factory=dict)
    """Since when a node counts as repaired: what was before says nothing about it."""

    def begin(self, node: str) -> float:
        """From when on this node is looked at."""
        return max(self.since, self.returned[node]) if node in self.returned else self.since

    def has(self, node: str, at: float) -> bool:
        """It happened within the window, and after the node's repair."""
        return self.begin(node) <= at < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of a node's timeline."""

    at: float
    kind: Literal["incident", "hook", "unseen"]
    what: str
    """Class and cause, or level and rule."""
    gpus: tuple[str, ...] = ()
    action: str = ""
    more: str = ""
    is_counted: bool = True
    """False: of the same run within the hour, so it is no second sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A node's count beside what chance would bring."""

    exposure_h: float
    incidents: int
    """That blame it, those of one run within an hour once."""
    counted: int
    """Of these in the test: of one user no more than of all others whose user is known."""
    expected: float
    """At the rate of the other nodes."""
    p: float
    """That so many or more fall on it by chance."""
    p_corrected: float
    p_of_all: float
    """The same, corrected, of its incidents whoever wrote them down: for a hint alone."""
    is_tested: bool = True
    """False: no node time of it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs that ran on a node."""

    ran: int = 0
    completed: int = 0
    """To their end, without an interruption that blames it."""
    interrupted: int = 0
    """By whatever machine."""
    blaming: int = 0
    users: int = 0
    """Whose jobs blame it."""
    program_faults: int = 0
    """Interruptions by program or data in jobs that it took part in; none of them counts."""
    went_on_without: int = 0
    """Runs that were interrupted on it, left it out and went on."""
    excluded: int = 0
    """Incidents after which it had to leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What root's hooks have written of a node."""

    level: Level = "ok"
    rule: str = ""
    gpu: str = ""
    text: str = ""
    since: float | None = None
    """When the rule fired first."""
    times: int = 0
    is_over: bool = False
    """A later look found nothing of it."""
    ok_at: float | None = None
    """The newest check that found nothing."""
    records: int = 0
    drain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One node."""

    node: str
    level: Level
    why: tuple[str, ...]
    numbers: Numbers
    jobs: Jobs
    telemetry: Telemetry
    unseen: int = 0
    """Failures that Slurm lays on it, of jobs without supervise."""
    timeline: tuple[Moment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What a person may type. It is never run."""

    node: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesReport:
    """All nodes, the worst first."""

    since: float
    until: float
    conclusion: str
    blockers: tuple[str, ...]
    looks: int
    """Nodes that were tested: the correction is for so many."""
    jobs: int
    incidents: int
    node_h: float
    nodes: tuple[Standing, ...]
    suggestions: tuple[Suggestion, ...]
    held_back: tuple[str, ...]
    """Suspects whose drain is not suggested now: the cap is reached, or their name fits into no command."""
    untrusted: int
    """Jobs in the name of another user: counted in nothing."""
