"""The record of one interruption: opened, diagnosed, acted upon, recovered from, closed."""

from typing import Any, TypeGuard

import msgspec

from supervisor.core.accounting import booked
from supervisor.core.instructions import KeepRecord
from supervisor.core.state import Attempt, Incident
from supervisor.core.turn import Turn
from supervisor.core.wording import ended_by
from supervisor.model.ids import AttemptNo, IncidentNo, NodeName
from supervisor.model.job_comment import with_mark
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.verdict import Class, Retry, Verdict

PENDING = Verdict(cls=Class.UNKNOWN, cause="unattributed", confidence=0.0, summary="not diagnosed yet")


def no_verdict(attempt: Attempt) -> Verdict:
    """What stands in for a verdict that nobody gives."""
    how = f"it ended with {ended_by(attempt.exit.code, attempt.exit.signal)}" if attempt.exit else "it stands still"
    return Verdict(
        cls=Class.UNKNOWN,
        cause="unattributed",
        confidence=0.0,
        summary=f"attempt {attempt.number} failed ({how}) and the evidence could not be gathered in time",
        retry=Retry.ONCE,
        fingerprint="unattributed",
    )


def open_incident(turn: Turn, *, evidence_at: float, lost: tuple[NodeName, ...] = ()) -> None:
    """A new interruption, as number and record. One that is still catching up ends here: it is interrupted itself."""
    close(turn)
    state = turn.state
    number = IncidentNo(state.behind.incidents + 1)
    turn.change_behind(incidents=number)
    record = IncidentRecord(
        run_id=state.run_id,
        job_id=state.job_id,
        incident=number,
        attempt=state.attempt.number if state.attempt else AttemptNo(0),
        opened_at=turn.at,
        evidence_at=min(evidence_at, turn.at),
        verdict=PENDING,
        action="none",
        nodes_before=state.held,
        split=Split(detect=max(0.0, turn.at - evidence_at)),
        step_before=state.behind.furthest_step,
    )
    turn.set(incident=Incident(record=record, lost=lost, lost_since=record.evidence_at))
    keep(turn)


def keep(turn: Turn) -> None:
    """Have the record written as it is now; the job's next Comment tells of it."""
    record = turn.incident.record
    turn.set(marks=with_mark(turn.state.marks, record, turn.state.job_id))
    turn.do(KeepRecord(record=record))


def diagnosed(turn: Turn, verdict: Verdict) -> None:
    """The verdict is there."""
    incident = turn.incident
    change_record(turn, verdict=verdict, isolation=_isolation(verdict))
    change_split(turn, collect=max(0.0, turn.at - incident.record.opened_at))
    turn.change_incident(is_diagnosed=True, verdict_at=turn.at)


def acted(turn: Turn, *, action: str, text: str) -> None:
    """What is done about it is decided (again: a rung of the ladder may have been refused)."""
    incident = turn.incident
    change_record(turn, action=action, action_text=text)
    if incident.action_at is None:
        change_split(turn, decide=max(0.0, turn.at - (incident.verdict_at or turn.at)))
        turn.change_incident(action_at=turn.at)
    keep(turn)


def stopped(turn: Turn) -> None:
    """Nothing of the attempt lives any more."""
    incident = turn.state.incident
    if incident is not None and incident.stopped_at is None and incident.action_at is not None:
        change_split(turn, stop=max(0.0, turn.at - incident.action_at))
        turn.change_incident(stopped_at=turn.at)


def relaunched(turn: Turn) -> None:
    """The next attempt is being started; where it resumes is known."""
    attempt, record = turn.attempt, turn.incident.record
    change_record(
        turn,
        nodes_after=attempt.nodes,
        resumed_from=attempt.resumed_from,
        resumed_step=attempt.resumed_step,
        steps_lost=_steps_lost(record.step_before, attempt.resumed_step),
    )
    keep(turn)


def ranks_run(turn: Turn) -> None:
    """Ranks of the new attempt are there: the recovery time is known."""
    incident = turn.state.incident
    if not _is_recovering(incident) or incident.ranks_at is not None:
        return
    if incident.verdict_at is not None:
        change_record(turn, recovery_s=max(0.0, turn.at - incident.verdict_at))
    if incident.stopped_at is not None:
        change_split(turn, launch=max(0.0, turn.at - incident.stopped_at))
    turn.change_incident(ranks_at=turn.at)
    # Without a step before there is nothing to catch up with.
    if incident.record.step_before is None:
        close(turn)
    else:
        keep(turn)


def stepped(turn: Turn, step: int) -> None:
    """A step of the new attempt was seen: the first one, or the one that regains what was lost."""
    ranks_run(turn)
    incident = turn.state.incident
    if not _is_recovering(incident) or incident.ranks_at is None:
        return
    if incident.stepped_at is None:
        change_split(turn, init=max(0.0, turn.at - incident.ranks_at))
        turn.change_incident(stepped_at=turn.at)
        if incident.record.steps_lost is None:
            change_record(turn, steps_lost=_steps_lost(incident.record.step_before, step))
        keep(turn)
    before = incident.record.step_before
    if before is not None and step >= before:
        change_split(turn, catch_up=max(0.0, turn.at - (turn.incident.stepped_at or turn.at)))
        close(turn)


def was_further(turn: Turn, step: int) -> None:
    """The interrupted attempt had got further than its last beats said when the incident was opened."""
    current = turn.state.incident
    if current is None or current.record.is_closed or current.record.attempt != turn.attempt.number:
        return
    if current.record.step_before is None or step > current.record.step_before:
        change_record(turn, step_before=step)


def close(turn: Turn) -> None:
    """The incident ends here; its loss is booked. Nothing happens where none is open."""
    incident = turn.state.incident
    if incident is None or incident.record.is_closed:
        return
    turn.state = booked(turn.state, turn.at)
    change_record(turn, is_closed=True)
    keep(turn)


def close_planned(turn: Turn) -> None:
    """The incident is no interruption but a planned end: it costs no budget."""
    change_record(turn, is_closed=True)
    keep(turn)
    turn.change_behind(planned=turn.state.behind.planned + 1)


def is_relaunched(turn: Turn) -> bool:
    """The present attempt came after the incident at hand."""
    current, attempt = turn.state.incident, turn.state.attempt
    return current is not None and attempt is not None and attempt.number > current.record.attempt


def leave_open(turn: Turn) -> None:
    """Another job goes on with the recovery: its loss so far is booked, the record travels on in `Carried`."""
    incident = turn.state.incident
    if incident is None or incident.record.is_closed:
        return
    turn.state = booked(turn.state, turn.at)
    keep(turn)


def taken_over(record: IncidentRecord, at: float) -> Incident:
    """The incident that an earlier job left: its times follow from its record. Waiting in the queue is no loss."""
    split = record.split
    verdict_at = record.opened_at + (split.collect or 0.0)
    action_at = verdict_at + (split.decide or 0.0)
    return Incident(
        record=record,
        is_diagnosed=True,
        is_slurm_asked=True,
        verdict_at=verdict_at,
        action_at=action_at,
        stopped_at=action_at + (split.stop or 0.0),
        lost_since=at,
    )


def change_record(turn: Turn, **changes: Any) -> None:  # fields of IncidentRecord
    """The record with these fields changed."""
    turn.change_incident(record=msgspec.structs.replace(turn.incident.record, **changes))


def change_split(turn: Turn, **changes: float) -> None:
    """The record's split with these parts set."""
    change_record(turn, split=msgspec.structs.replace(turn.incident.record.split, **changes))


def _is_recovering(incident: Incident | None) -> TypeGuard[Incident]:
    return incident is not None and incident.action_at is not None and not incident.record.is_closed


def _isolation(verdict: Verdict) -> str:
    if verdict.blame.ranks:
        return "rank"
    if verdict.blame.gpus:
        return "gpu"
    return "node" if verdict.blame.nodes else "job"


def _steps_lost(before: int | None, resumed: int | None) -> int | None:
    return None if before is None or resumed is None else max(0, before - resumed)
