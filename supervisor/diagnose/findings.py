"""One thing that points at a cause, as a value that can be compared with others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from supervisor.diagnose.scan.stamps import Stamp
from supervisor.diagnose.scan.traces import Frame
from supervisor.diagnose.signatures import Mark, Role, Scope
from supervisor.model.ids import NodeName, Rank

_SIGKILL = 9
_SIGTERM = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A line, a counter or a state that points at a cause, or that only says how something ended (no cause)."""

    signature: str
    role: Role
    source: str
    """`ranks/3.log:118`, `nvml/node004.json`."""
    text: str
    cause: str = ""
    weight: float = 0.0
    """0 to 1: how sure the cause is by this alone."""
    scope: Scope = "own"
    marks: tuple[Mark, ...] = ()
    order: tuple[int, int] = (-1, 0)
    """Log and line; what is no line stands before all."""
    stamp: Stamp | None = None
    time: float | None = None
    """Seconds since the epoch, for comparison within one bundle only: logs do not tell their time zone."""
    rank: Rank | None = None
    local_rank: int | None = None
    node: NodeName | None = None
    gpu: int | None = None
    pid: int | None = None
    pci: str | None = None
    code: int | None = None
    signal: int | None = None
    frame: Frame | None = None
    """The innermost frame in the user's code."""
    exception: str = ""
    file: str | None = None
    peer: str | None = None
    errno: int | None = None
    ms: int | None = None
    """How long the writer had waited before it wrote this."""
    step: int | None = None
    number: str | None = None
    names: str = ""
    """A list of nodes in Slurm's short form."""
    went_on: bool = False
    """The writer went on working afterwards."""
    count: int = 1
    """How often the same was said."""

    @property
    def began(self) -> float | None:
        """When the trouble began: a timeout tells of it after its wait."""
        return None if self.time is None else self.time - (self.ms or 0) / 1000

    @property
    def is_line(self) -> bool:
        """It is a line of a log, not a counter or state."""
        return self.order[0] >= 0

    def has(self, *marks: Mark) -> bool:
        """One of these marks is on it."""
        return any(mark in self.marks for mark in marks)


def failures(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Those that say that a task failed by itself: not ended by TERM or KILL from outside."""
    for finding in findings:
        if (finding.code or finding.signal) and finding.signal not in {_SIGKILL, _SIGTERM}:
            yield finding
