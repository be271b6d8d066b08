"""What a hand needs that hands the run on: the supervisor's world has it, and so has the deputy of a dead one."""

import asyncio
from pathlib import Path
from typing import Protocol

from supervisor.daemon.clock import Clock
from supervisor.daemon.surroundings import Surroundings
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.writer import Writer
from supervisor.model.ids import JobId
from supervisor.settings import Settings
from supervisor.slurm.backend import Backend


class Sender(Protocol):
    """Edges and facts for a submission or a requeue; see `World`."""

    folder: Path
    run: RunFile
    settings: Settings
    around: Surroundings
    slurm: Backend
    writer: Writer
    has_submitted: bool
    submitting: asyncio.Lock
    successor: JobId | None
    sigterm_at: float

    @property
    def clock(self) -> Clock:
        """Seconds since the epoch, steady."""
