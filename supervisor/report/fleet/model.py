"""The report as values: every figure is computed, so that texts, JSON, CSV and HTML only have to show them."""

from dataclasses import dataclass
from typing import Literal

Source = Literal["ledger", "sacct", "runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What interruptions have cost, in every unit that is known."""

    node_h: float = 0.0
    """Of all nodes, with GPUs or without."""
    gpu_h: float = 0.0
    bare_node_h: float = 0.0
    """The part of `node_h` in jobs of which no GPUs are known; it is not in `gpu_h`."""
    kwh: float | None = None
    """At the mean power of the job, where energy was read; None: it was read in no job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One class, cause, node, day, …: how many interruptions, what they cost, how many needed a person."""

    name: str
    interruptions: int
    share: float
    """Of all interruptions of the report."""
    by_person: int
    cost: Cost
    classes: tuple[tuple[str, int], ...] = ()
    """How many of each class, where the row is none itself."""
    causes: tuple["Row", ...] = ()
    """Of a class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All interruptions, each in exactly one row."""

    by: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure and where it lies with 95% confidence; None: no bound on that side, or no estimate."""

    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often jobs of one size are interrupted."""

    nodes: str
    """`64`, `33~64`; `all`; `unknown`."""
    jobs: int
    interruptions: int
    job_h: float
    """Hours that jobs held their nodes."""
    node_d: float
    """Node-days held."""
    mtbi_h: Interval
    """Mean time between interruptions, in hours of a job."""
    per_1000_node_d: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEttr:
    """One day or week."""

    begins_at: float
    ettr: float | None
    """None: too little was held for a comparison."""
    held_node_h: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEttr:
    """One run that held nodes in the window."""

    run: str
    job: str
    """The newest of its jobs."""
    user: str
    ettr: float
    held_node_h: float
    interruptions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ettr:
    """Effective training time ratio: node time in which new steps were made, over node time held."""

    ratio: float | None
    computing_node_h: float
    held_node_h: float
    held_gpu_h: float
    energy_kwh: float | None
    is_at_most: bool
    """Accounting knows no steps: what no interruption cost counts as computing."""
    window: Literal["day", "week"]
    windows: tuple[WindowEttr, ...]
    """Oldest first; those before the report's beginning are there for the trend alone."""
    falling: tuple[float, ...]
    """The windows that fall one after the other up to the newest, the one before them first; empty: none falls."""
    is_escalated: bool
    """They fell three times in a row or more: for a person."""
    lowest: tuple[RunEttr, ...]
    """Runs that held the most unused node time first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Of a duration in seconds."""

    known: int
    median_s: float
    p90_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of all recoveries."""

    name: str
    seconds: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast interruptions were seen, pinned down and overcome."""

    detection: Spread | None
    isolation: Spread | None
    """From the opening of an incident to its verdict, which names the finest unit that it can."""
    recovery: Spread | None
    """From the verdict to ranks running."""
    isolated_to: tuple[tuple[str, int], ...]
    parts: tuple[Part, ...]
    """From the verdict to the furthest step again, the largest first."""
    remedy: str
    """For the largest part; empty: nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """One row of a published table beside ours."""

    name: str
    published: int
    published_share: float
    ours: int
    share: Interval
    is_different: bool
    """The published share lies outside of our interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """This fleet beside a published one."""

    name: str
    published: int
    published_per_1000_node_d: float
    rows: tuple[ProfileRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A run that was stopped, or only watched, and that nobody has taken up since."""

    run: str
    job: str
    user: str
    cls: str
    cause: str
    node: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """The blind spot: failures of jobs that ran without `supervise`."""

    failures: int
    states: tuple[tuple[str, int], ...]
    cost_at_most: Cost
    """All that the jobs held until then."""
    nodes: tuple[tuple[str, int], ...]
    """Those that Slurm names, the most frequent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """One interruption, for tables."""

    at: float
    cluster: str
    job: str
    run: str
    user: str
    partition: str
    node_count: int
    gpus_per_node: int
    cls: str
    cause: str
    confidence: float
    nodes: tuple[str, ...]
    gpus: tuple[str, ...]
    action: str
    isolation: str
    detect_s: float | None
    isolate_s: float | None
    recovery_s: float | None
    steps_lost: int | None
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReport:
    """Everything that the report says."""

    source: Source
    place: str
    """The ledger's folder, or in words."""
    clusters: tuple[str, ...]
    """Of its jobs."""
    since: float | None
    """None: everything that is known."""
    until: float
    is_ok: bool
    conclusion: str
    """The first line: decidable, with what blocks."""
    blockers: tuple[str, ...]
    look_first: tuple[str, ...]
    """Nodes that took part in more than one interruption by the machine."""
    interruptions: int
    planned: int
    jobs: int
    runs: int
    handled: int
    """Without a person."""
    not_over: int
    """Nobody can say yet whether they will have been."""
    handled_share: float | None
    """Of those that are over."""
    unknown: int
    unknown_share: float | None
    cost: Cost
    classes: tuple[Row, ...]
    groups: tuple[Group, ...]
    mtbi: Rate
    mtbi_by_size: tuple[Rate, ...]
    ettr: Ettr
    speed: Speed
    profile: Profile
    waiting: tuple[Waiting, ...]
    unseen: Unseen | None
    """None: the source does not know."""
    untrusted: tuple[tuple[str, int], ...]
    """Owners of files that name another user, and how many: counted in nothing."""
    rows: tuple[Interruption, ...]
    """Oldest first; the newest ones where not all were asked for."""
    problems: tuple[str, ...]
