"""The breaker: nodes that Slurm drains because our stops left something that cannot be killed.

Supervisors that went on restarting have drained whole partitions that way, one allocation after the other
(submitit PR 1780). `policy` stops the run at the second one.
"""

from typing import Final

from supervisor.core.events import SlurmReported
from supervisor.core.launch import note_unfit
from supervisor.core.state import State
from supervisor.core.turn import Turn

_REASON: Final = "kill task failed"
"""slurmd's own words for a node whose step did not end within UnkillableStepTimeout."""


def slurm_said(turn: Turn, event: SlurmReported) -> None:
    """Note the nodes of this job that were drained for it since we stopped something."""
    if not _has_stopped(turn.state):
        return
    for seen in event.nodes:
        if seen.node in turn.state.nodes and _REASON in seen.reason.lower():
            known = turn.state.behind.kill_failed
            turn.change_behind(kill_failed=tuple(dict.fromkeys([*known, seen.node])))
            note_unfit(turn, seen.node, "Slurm drains it (Kill task failed)")


def _has_stopped(state: State) -> bool:
    return state.behind.restarts > 0 or (state.attempt is not None and state.attempt.is_stopping)
