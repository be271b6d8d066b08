"""What others need of the state: the counts for the next job, and the picture for `status`."""

from typing import Final

import msgspec

from supervisor.core.accounting import booked, requested
from supervisor.core.carried import Carried, Halt
from supervisor.core.cut_off import interruption
from supervisor.core.policy import excluded
from supervisor.core.state import Stage, State
from supervisor.model.base import Fact
from supervisor.model.ids import AttemptNo, JobId, NodeName
from supervisor.model.verdict import CANCELS

_FINAL: Final = CANCELS | {"walltime"}
"""Ends after which Slurm does not start a job again by itself."""


class Summary(Fact, frozen=True, kw_only=True):
    """The living run in a few values, for `status.json`."""

    stage: Stage
    attempt: AttemptNo
    """0: none yet."""
    nodes: tuple[NodeName, ...] = ()
    """Of the attempt."""
    unfit: dict[NodeName, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    step: int | None = None
    interruptions: int = 0
    """Over the whole run, planned stops not counted."""
    restarts: int = 0
    successor: JobId | None = None
    conclusion: str = ""
    """The last words, once they are said."""


def summary(state: State) -> Summary:
    """The picture of the run."""
    attempt, behind = state.attempt, state.behind
    return Summary(
        stage=state.stage,
        attempt=attempt.number if attempt else AttemptNo(0),
        nodes=attempt.nodes if attempt else (),
        unfit=state.unfit,
        step=attempt.step if attempt else None,
        interruptions=behind.incidents - behind.planned,
        restarts=behind.restarts,
        successor=state.submitted,
        conclusion=state.finish.reason if state.finish else "",
    )


def carried(state: State, at: float, step: int | None = None) -> Carried:
    """What the next job of the run must know. `at`: when this job ended or was heard of last; `step`: see `cut_off`."""
    if state.stage is not Stage.FINISHED:
        state = booked(state, at)
    incident = state.incident
    is_open = incident is not None and not incident.record.is_closed
    missing = interruption(state, at, step)
    return msgspec.structs.replace(
        state.behind,
        incidents=missing.incident if missing else state.behind.incidents,
        requested_node_seconds=requested(state, at),
        excluded=excluded(state),
        halt=_unfinished_halt(state),
        open_incident=missing or (incident.record if is_open and incident else None),
    )


def _unfinished_halt(state: State) -> Halt | None:
    """One that the job did not live to carry out, or that Slurm's own restart of the job would undo.

    A job that begins after the others' ends was begun by a person, who wants the run to go on.
    """
    is_ended = state.term is None or state.term.cause in _FINAL
    return None if state.stage is Stage.FINISHED and is_ended else state.halt
