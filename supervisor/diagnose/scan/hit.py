"""What a signature found in one line."""

from supervisor.diagnose.signatures import Mark, Role, Scope
from supervisor.model.base import Fact
from supervisor.model.ids import NodeName, Rank


class Hit(Fact, frozen=True, kw_only=True):
    """One line that a signature knows; a line about several tasks makes one per task."""

    signature: str
    text: str
    root: bool
    """The line shows why something failed, not only that it did."""
    cause: str = ""
    role: Role = "context"
    weight: float = 0.0
    scope: Scope = "own"
    marks: tuple[Mark, ...] = ()
    rank: Rank | None = None
    local_rank: int | None = None
    node: NodeName | None = None
    gpu: int | None = None
    pid: int | None = None
    pci: str | None = None
    code: int | None = None
    """Exit code that the line tells of."""
    signal: int | None = None
    file: str | None = None
    peer: str | None = None
    errno: int | None = None
    ms: int | None = None
    """How long the writer had waited."""
    step: int | None = None
    number: str | None = None
    names: str = ""
    """Nodes in Slurm's short form, where the line names several."""
