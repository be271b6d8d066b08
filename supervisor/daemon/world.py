"""What the supervisor's parts share: made once at the start, handed to each part."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from supervisor.bus.protocol import HubLink
from supervisor.core.events import Event
from supervisor.core.instructions import Finish, KeepRecord
from supervisor.daemon.answers import Answers
from supervisor.daemon.clock import Clock
from supervisor.daemon.keeper_link import KeeperLink
from supervisor.daemon.output import Output
from supervisor.daemon.rank_lines import RankLines
from supervisor.daemon.roster import Roster
from supervisor.daemon.step_files import StepFiles
from supervisor.daemon.surroundings import Surroundings
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.writer import Writer
from supervisor.model.base import Fact, encode
from supervisor.model.ids import AttemptNo, JobId
from supervisor.model.records import IncidentRecord
from supervisor.settings import Settings
from supervisor.slurm.backend import Backend


class OutputOffsets(Fact, frozen=True, kw_only=True):
    """`attempts/NNN/output.json`: where this attempt's output begins, for a supervisor that takes over."""

    offsets: tuple[int, ...] = ()


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
    writer: Writer
    post: Callable[[Event], None]
    signatures: Catalogue
    """The product's and the site's: what lines are judged by."""
    folders: tuple[str, ...] = ()
    """Folders that each node must reach: tier 0 asks for them."""
    answers: Answers = field(default_factory=Answers)
    rank_lines: RankLines = field(default_factory=RankLines)
    step_files: StepFiles = field(default_factory=StepFiles)
    rank_failed: asyncio.Event = field(default_factory=asyncio.Event)
    """The output has told of a rank's failure just now."""
    script_pid: int = 0
    """The living attempt's script; 0 = none."""

    has_submitted: bool = False
    """A successor may have been asked for before, with an answer that nobody heard."""
    tell_site: Callable[[IncidentRecord], None] = lambda _: None
    """An interruption goes to the site's ledger, where the site keeps one."""
    tell_person: Callable[[KeepRecord | Finish], None] = lambda _: None
    """An interruption or the end goes to those whom the user has named."""
    submitting: asyncio.Lock = field(default_factory=asyncio.Lock)
    successor: JobId | None = None
    """The job that goes on with the run, once sbatch has accepted it."""
    sigterm_at: float = float("-inf")
    """When this process itself received SIGTERM last."""

    def attempt_folder(self, attempt: AttemptNo) -> Path:
        """Where what belongs to one attempt is kept."""
        return self.folder / "attempts" / f"{attempt:03d}"

    def begin_attempt(self, attempt: AttemptNo) -> None:
        """From now on beats and output count for this attempt."""
        self.roster.begin(attempt)
        self.rank_lines.begin(attempt)
        self.step_files.begin(self.clock())
        offsets = OutputOffsets(offsets=tuple(self.output.begin(attempt)))
        self.writer.write(self.attempt_folder(attempt) / "output.json", encode(offsets))

    def adopt_attempt(self, attempt: AttemptNo, pid: int) -> None:
        """An attempt that an earlier supervisor started (or the keeper by itself): read on where it began."""
        self.script_pid = pid
        if not attempt or self.roster.attempt == attempt:
            return
        self.roster.begin(attempt)
        self.rank_lines.begin(attempt)
        self.step_files.begin(self.clock())
        try:
            data = (self.attempt_folder(attempt) / "output.json").read_bytes()
            known = msgspec.json.decode(data, type=OutputOffsets).offsets
        except (OSError, msgspec.MsgspecError):
            known = ()
        self.output.begin(attempt, offsets=list(known))
