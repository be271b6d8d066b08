"""What the supervisor's parts share: made once at the start, handed to each part."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.bus.protocol import HubLink
from supervisor.core.events import Event
from supervisor.daemon.answers import Answers
from supervisor.daemon.clock import Clock
from supervisor.daemon.keeper_link import KeeperLink
from supervisor.daemon.output import Output
from supervisor.daemon.roster import Roster
from supervisor.daemon.surroundings import Surroundings
from supervisor.ledger.run_file import RunFile
from supervisor.settings import Settings
from supervisor.slurm.backend import Backend


@dataclass(slots=True, kw_only=True)
class World:
    """Edges and the facts they keep."""

    folder: Path
    """The run folder."""
    run: RunFile
    settings: Settings
    around: Surroundings
    clock: Clock
    slurm: Backend
    keeper: KeeperLink
    hub: HubLink
    roster: Roster
    output: Output
    post: Callable[[Event], None]
    answers: Answers = field(default_factory=Answers)
    script_pid: int = 0
    """The living attempt's script; 0 = none."""
