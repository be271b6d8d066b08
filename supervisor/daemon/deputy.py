"""Who submits for a supervisor that died with its node: the same edges, as far as a submission needs them."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.daemon.clock import Clock
from supervisor.daemon.surroundings import Surroundings
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.writer import Writer
from supervisor.model.ids import JobId
from supervisor.settings import Settings
from supervisor.slurm.backend import Backend


@dataclass(slots=True, kw_only=True)
class Deputy:
    """A `Sender` (`hands/sender.py`). It never knows what its supervisor has sent before: it looks first."""

    folder: Path
    run: RunFile
    settings: Settings
    around: Surroundings
    """Of the batch script, as the job's environment tells."""
    clock: Clock
    slurm: Backend
    writer: Writer
    has_submitted: bool = True
    submitting: asyncio.Lock = field(default_factory=asyncio.Lock)
    successor: JobId | None = None
    sigterm_at: float = float("-inf")
