"""A job of our own that waits in the queue: until when, and how often Slurm may be asked about it."""

from typing import Final

LIVING: Final = frozenset({"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED"})
"""States of a job that has not ended."""
LONGEST_PAUSE_S: Final = 60.0
"""Guests on the controller: the longer the queue the less often it is asked."""
FOR_EVER: Final = (
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "AccountNotAllowed",
    "QOSNotAllowed",
    "JobHeld",
)
"""Beginnings of reasons that no patience helps against."""
