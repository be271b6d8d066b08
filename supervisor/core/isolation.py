"""Whether this batch host may still work on the run, or must stop what it runs. Pure.

The agents on the other nodes take over from a batch host that is silent for two leases. So one that is cut off from
everybody for one lease ends by itself, and one that comes back finds that another job has the run.
"""

from dataclasses import dataclass

from supervisor.model.ids import JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class Contacts:
    """When somebody else was reached last; seconds of one steady clock."""

    written_at: float
    """The term, on the shared filesystem."""
    heard_at: float | None
    """An agent on another node; None: none was ever heard, so there is nobody who could take over."""
    answered_at: float | None
    """Slurm's controller; None: nobody knows where it is."""


def is_cut_off(contacts: Contacts, *, since: float, now: float, lease_s: float) -> bool:
    """Nobody was reached for the whole lease. `since`: when this process began to look, or woke up.

    Without knowing where the controller is nothing is certain: a filesystem that hangs is no reason to stop a run.
    Nor is one machine that serves files and slurmctld, and starts anew, where no agent could take over meanwhile.
    """
    if contacts.answered_at is None or contacts.heard_at is None:
        return False
    reached = max(contacts.written_at, contacts.heard_at, contacts.answered_at, since)
    return now - reached >= lease_s


def is_newer(theirs: tuple[JobId, int], ours: tuple[JobId, int]) -> bool:
    """Whether another start of a job (number, restarts) came after ours: Slurm counts its jobs up."""
    return _order(theirs) > _order(ours)


def _order(start: tuple[JobId, int]) -> tuple[int, int]:
    job, restarts = start
    return (int(job) if job.isdigit() else -1, restarts)
