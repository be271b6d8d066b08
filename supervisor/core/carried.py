"""What a run has behind it when a new job takes it over."""

from typing import Literal

from supervisor.model.base import Fact
from supervisor.model.ids import NodeName
from supervisor.model.records import IncidentRecord


class Halt(Fact, frozen=True, kw_only=True):
    """A person's wish that the run ends. As long as it stands nothing is started any more."""

    by: str
    why: str = ""
    is_now: bool = False
    """Carried out; before that the running attempt goes on."""
    until: float | None = None
    """At the latest then."""
    waits_for_checkpoint: bool = False
    known_step: int | None = None
    """Step of the newest checkpoint when it was asked for a newer one; -1: there was none; None: not known yet."""
    looked_at: float | None = None


class Carried(Fact, frozen=True, kw_only=True):
    """Budgets are counted over the whole run."""

    attempts: int = 0
    incidents: int = 0
    restarts: int = 0
    restarts_without_progress: int = 0
    furthest_step: int | None = None
    lost_node_seconds: float = 0.0
    requested_node_seconds: float = 0.0
    fingerprint: str = ""
    """The last failure's."""
    fingerprint_step: int | None = None
    """The furthest step when it happened."""
    excluded: tuple[NodeName, ...] = ()
    """Nodes excluded by us so far, not by the user."""
    planned: int = 0
    """How many of `incidents` were planned stops: no interruptions."""
    checkpoint_step: int | None = None
    """The newest whole checkpoint that was ever chosen: from then on "none" is not believed."""
    save_s: float = 0.0
    """The longest that a save has taken, as far as beats told; 0: none did."""
    restarts_by: dict[str, int] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """How many of `restarts` were for each cause and for each class."""
    mode: Literal["", "act", "observe"] = ""
    """As a person has changed it while the run went on; empty: as it was submitted."""
    kill_failed: tuple[NodeName, ...] = ()
    """Nodes that Slurm drained after one of our stops, because something there could not be killed."""
    distrusted: tuple[str, ...] = ()
    """Checkpoints that an attempt could not begin with, though they look whole; until a new step is made."""
    skip: tuple[str, ...] = ()
    """What the program is asked to leave out, the newest last: files, or `step N`."""
    halt: Halt | None = None
    """A person's, which the job before did not live to carry out, or which Slurm starts again in spite of it."""
    open_incident: IncidentRecord | None = None
    """The interruption that the new job recovers from; it is closed when the furthest step is reached again."""
