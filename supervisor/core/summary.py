"""What others need of the state: the counts for the next job, and the picture for `status`."""

import msgspec

from supervisor.core.accounting import booked, lost_share, requested
from supervisor.core.events import Carried
from supervisor.core.policy import excluded
from supervisor.core.state import Stage, State
from supervisor.model.base import Fact
from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId


class Summary(Fact, frozen=True, kw_only=True):
    """The living run in a few values, for `status.json`."""

    run_id: RunId
    job_id: JobId
    stage: Stage
    attempt: AttemptNo
    """0: none yet."""
    nodes: tuple[NodeName, ...] = ()
    """Of the attempt."""
    hidden: tuple[NodeName, ...] = ()
    """Nodes of the job that the attempt does not use."""
    left: tuple[NodeName, ...] = ()
    """Nodes that have left the job."""
    silent: tuple[NodeName, ...] = ()
    unfit: dict[NodeName, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    step: int | None = None
    furthest_step: int | None = None
    resumed_step: int | None = None
    interruptions: int = 0
    """Over the whole run, planned stops not counted."""
    restarts: int = 0
    lost_share: float = 0.0
    lost_node_seconds: float = 0.0
    ending: str = ""
    """Why the job is being ended; empty: it is not, or nobody knows yet."""
    successor: JobId | None = None
    conclusion: str = ""
    """The last words, once they are said."""


def summary(state: State, at: float) -> Summary:
    """The picture of the run at this moment."""
    attempt, behind = state.attempt, booked(state, at).behind
    nodes = attempt.nodes if attempt else ()
    return Summary(
        run_id=state.run_id,
        job_id=state.job_id,
        stage=state.stage,
        attempt=attempt.number if attempt else AttemptNo(0),
        nodes=nodes,
        hidden=tuple(node for node in state.held if attempt and node not in nodes),
        left=state.out,
        silent=tuple(node for node in state.held if node in state.trouble),
        unfit=state.unfit,
        step=attempt.step if attempt else None,
        furthest_step=behind.furthest_step,
        resumed_step=attempt.resumed_step if attempt else None,
        interruptions=behind.incidents - behind.planned,
        restarts=behind.restarts,
        lost_share=lost_share(state, at),
        lost_node_seconds=behind.lost_node_seconds,
        ending=state.term.cause if state.term else "",
        successor=state.submitted,
        conclusion=state.finish.reason if state.finish else "",
    )


def carried(state: State, at: float) -> Carried:
    """What the next job of the run must know. `at`: when this job ended, or its last recorded event."""
    if state.stage is not Stage.FINISHED:
        state = booked(state, at)
    incident = state.incident
    is_open = incident is not None and not incident.record.is_closed
    return msgspec.structs.replace(
        state.behind,
        requested_node_seconds=requested(state, at),
        excluded=excluded(state),
        open_incident=incident.record if is_open and incident else None,
    )
