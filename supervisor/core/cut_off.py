"""A job that ended without a last word: its supervisor died with its node, and nobody wrote down the interruption.

The next job of the run does, from what the log says. Pure.
"""

from typing import Final

from supervisor.core.state import Stage, State
from supervisor.model.ids import IncidentNo, NodeName
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Blame, Class, Retry, Verdict

_SURE: Final = 0.6
"""A supervisor that outlives nothing else of its job has mostly died with its node; an admin may have killed it all."""
_AT_WORK: Final = frozenset({Stage.LAUNCHING, Stage.RUNNING})
"""In the other stages an interruption is on record already, or nothing was computed yet."""


def interruption(state: State, at: float, step: int | None = None) -> IncidentRecord | None:
    """The record that is missing, for the job after; None: nothing is missing.

    `at`: when the last was heard of the job, `step`: how far it had come by then, where somebody knows better than the
    log, which records progress seldom.
    """
    attempt, current = state.attempt, state.incident
    is_recovering = current is not None and not current.record.is_closed
    if state.stage not in _AT_WORK or attempt is None or not attempt.is_live or is_recovering:
        return None
    return IncidentRecord(
        run_id=state.run_id,
        job_id=state.job_id,
        incident=IncidentNo(state.behind.incidents + 1),
        attempt=attempt.number,
        opened_at=at,
        evidence_at=at,
        verdict=verdict_on(state, state.batch_host),
        action="requeue",
        action_text="Slurm started the job again",
        isolation="node",
        nodes_before=state.held,
        step_before=_further(state.behind.furthest_step, step),
    )


def _further(logged: int | None, told: int | None) -> int | None:
    known = [step for step in (logged, told) if step is not None]
    return max(known, default=None)


def verdict_on(state: State, host: NodeName) -> Verdict:
    """What it was that ended the job without a word."""
    return Verdict(
        cls=Class.HARDWARE,
        cause="node_unreachable",
        confidence=_SURE,
        summary=f"job {state.job_id} ended without a word, as it does when its batch host {host} dies",
        blame=Blame(nodes=(host,)),
        retry=Retry.YES,
        fingerprint=f"node_unreachable|{host}",
    )
