"""Names of things that must not be mixed."""

from typing import NewType

RunId = NewType("RunId", str)
"""One logical training run, over any number of jobs: `<job name>-<five characters>`."""

JobId = NewType("JobId", str)
"""A Slurm job id as Slurm prints it; `17_3` for a task of an array."""

NodeName = NewType("NodeName", str)
"""Slurm's NodeName, not the host name."""

Rank = NewType("Rank", int)
AttemptNo = NewType("AttemptNo", int)
"""Launches of the user's script, counted from 1 over the whole run."""

IncidentNo = NewType("IncidentNo", int)
"""Interruptions, counted from 1 over the whole run."""
