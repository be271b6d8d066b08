"""The one word that a run has in lists, and the first line of an answer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Standing(StrEnum):
    """One word for lists."""

    WAITING = "waiting"
    RUNNING = "running"
    RECOVERING = "recovering"
    SILENT = "silent"
    COMPLETED = "completed"
    RESUBMITTED = "resubmitted"
    REQUEUED = "requeued"
    CANCELLED = "cancelled"
    UNSTARTED = "unstarted"
    """Slurm has forgotten the job, and it never began."""
    ENDED = "ended"
    STOPPED = "stopped"
    FAILED = "failed"
    """In observe mode, where nothing is done about it."""


NEEDS_PERSON: Final = frozenset({Standing.SILENT, Standing.ENDED, Standing.STOPPED, Standing.FAILED})
LIVING: Final = frozenset(
    {Standing.WAITING, Standing.RUNNING, Standing.RECOVERING, Standing.SILENT, Standing.RESUBMITTED, Standing.REQUEUED}
)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The first line of an answer."""

    standing: Standing
    text: str
    blockers: tuple[str, ...] = ()
    """What a person must do or know; empty: nothing."""
