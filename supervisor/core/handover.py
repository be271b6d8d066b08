"""When this job cannot go on: another one, by the ladder in `ladder.py`; each rung has a deadline and falls through."""

from typing import Final

from supervisor.core import halted, incident, ladder, planned_record, standby
from supervisor.core.accounting import with_restart
from supervisor.core.cause import is_successor_unwanted
from supervisor.core.end import finish
from supervisor.core.events import Requeued, Submitted
from supervisor.core.instructions import CancelJob, Requeue, Submit
from supervisor.core.policy import budget_used_up, excluded
from supervisor.core.state import Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import decision, names, planned_action, waits
from supervisor.model.verdict import Blame, Class, Retry, Verdict

_SUBMITS: Final = 10
"""Orders for a submission whose end nobody knows, half a minute each: so long slurmctld may be away. The hands look
for the job before they ask again."""


def no_nodes(turn: Turn) -> None:
    """This job's nodes do not suffice: resubmit, within the budgets. Before the first attempt that is an incident."""
    if turn.state.is_first and (turn.is_observing or turn.state.rung == "submit_anywhere"):
        _start_anyway(turn)
        return
    if turn.state.incident is None or turn.incident.record.is_closed:
        _open_for_bad_nodes(turn)
    why = budget_used_up(turn.incident.record.verdict, turn.state, turn.settings, turn.at)
    if why and turn.state.is_first:
        # Plain sbatch would have run it: used-up budgets forbid another job, not this one's first start.
        _start_anyway(turn)
    elif why:
        incident.acted(turn, action="stop", text=f"stopped: {why}")
        finish(turn, words=f"stopped: {why}")
    else:
        submit(turn)


def submit(turn: Turn) -> None:
    """Another job, without the nodes that failed here."""
    exclude = excluded(turn.state)
    if not planned_record.is_of_attempt(turn, "walltime"):
        turn.state = with_restart(turn.state)
    turn.change_behind(excluded=exclude)
    turn.set(exclude=exclude, rung=ladder.first(turn.state), is_refused=False)
    how = "requeue" if turn.state.rung == "requeue" else "resubmit"
    if turn.state.incident is not None and not turn.incident.record.is_closed:
        incident.acted(turn, action="resubmit", text=planned_action(how, drop=exclude))
    if how == "requeue":
        turn.say(f"{ladder.own_id(turn.state)}: asking Slurm to start it again")
    _order_rung(turn)


def order_again(turn: Turn) -> None:
    """After a takeover, or when nobody knows how the last order ended."""
    _order_rung(turn)


def submitted(turn: Turn, event: Submitted) -> None:
    """The answer to a submission."""
    if turn.state.stage is Stage.FINISHED:
        _submitted_too_late(turn, event)
        return
    if turn.state.stage is not Stage.SUBMITTING:
        return
    if turn.state.halt is not None and event.outcome != "unknown":
        _halted_meanwhile(turn, event)
        return
    match event.outcome:
        case "accepted":
            turn.set(submitted=event.job_id)
            told = waits(turn.state.job_id, moved=event.moved, left=event.left)
            words = f"job {event.job_id} goes on with the run{_without(turn)}{'; ' + told if told else ''}"
            finish(turn, words=words, handed_over=True)
        case "refused":
            turn.set(is_refused=turn.state.is_refused or not event.holds)
            _next_rung(turn, event.text if event.holds else f"sbatch refuses ({event.text})")
        case "unknown":
            _submit_again(turn, event.text)


def requeued(turn: Turn, event: Requeued) -> None:
    """`scontrol requeue` has answered."""
    if turn.state.stage is not Stage.REQUEUEING:
        return
    if turn.state.halt is not None:
        # Where Slurm starts this very job again, that must not be.
        turn.do(*([CancelJob(job_id=turn.state.job_id)] if event.ok else []))
        finish(turn, words=halted.words(turn.state.halt))
    elif event.ok:
        incident_action(turn, "requeue")
        finish(turn, words="Slurm starts this job again", handed_over=True)
    else:
        _next_rung(turn, f"Slurm does not start this job again ({event.text})")


def take_back(turn: Turn) -> None:
    """A person wants the run to end: its successor, too."""
    job = turn.state.submitted
    standby.take_away(turn, handed_over=False)
    if job is not None:
        turn.do(CancelJob(job_id=job))
        turn.say(f"successor {job} is cancelled")
        turn.set(unwanted=job, submitted=None)


def late(turn: Turn) -> None:
    """No answer at all in the stage's time."""
    if turn.state.stage is Stage.SUBMITTING:
        submitted(turn, Submitted(at=turn.at, outcome="unknown", text="no answer in time"))
    else:
        requeued(turn, Requeued(at=turn.at, ok=False, text="no answer in time"))


def incident_action(turn: Turn, action: str) -> None:
    """Note in the record which rung it was in the end."""
    if turn.state.incident is not None and not turn.incident.record.is_closed:
        incident.acted(turn, action=action, text=turn.incident.record.action_text)


def _order_rung(turn: Turn) -> None:
    if turn.state.rung == "requeue":
        turn.enter(Stage.REQUEUEING)
        turn.do(Requeue(exclude=turn.state.exclude))
    else:
        _order(turn)


def _order(turn: Turn) -> None:
    tries = turn.state.tries if turn.state.stage is Stage.SUBMITTING else 0
    turn.enter(Stage.SUBMITTING)
    turn.set(tries=tries)
    attempt = turn.state.attempt
    may_live = turn.state.is_unproven or (attempt is not None and not attempt.is_gone)
    # A person may have halted the run since: then a job is only looked for, to cancel it.
    turn.do(
        Submit(
            exclude=turn.state.exclude,
            after_this_job=may_live,
            only_look=turn.state.halt is not None,
            standby=turn.state.standby,
            whoever_waits=turn.state.rung != "submit",
        )
    )


def _submit_again(turn: Turn, text: str) -> None:
    tries = turn.state.tries + 1
    if tries >= _SUBMITS:
        # Not the next rung: the job may be there, and a requeue beside it would make a twin.
        finish(turn, words=f"stopped: nobody knows whether a successor was submitted ({text}); see squeue")
        return
    turn.set(tries=tries)
    _order(turn)


def _next_rung(turn: Turn, why: str) -> None:
    rung = ladder.below(turn.state)
    if rung is None:
        turn.set(rung="submit_anywhere")
        _no_other_job(turn, why)
        return
    doing = {
        "requeue": "asking Slurm to start this job again",
        "submit_anyhow": "submitting another one",
        "submit_anywhere": "submitting without exclusions",
    }
    turn.say(f"{why}; {doing[rung]}")
    turn.set(rung=rung, exclude=() if rung == "submit_anywhere" else turn.state.exclude)
    _order_rung(turn)


def _no_other_job(turn: Turn, why: str) -> None:
    attempt = turn.state.attempt
    if attempt is None:
        _start_anyway(turn)
    elif attempt.is_live and not attempt.is_stopping:
        # The keeper started it meanwhile: it may well succeed, as it would without us.
        incident.close(turn)
        turn.enter(Stage.RUNNING)
    else:
        incident_action(turn, "stop")
        finish(turn, words=f"stopped: no other job can be had: {why}")


def _start_anyway(turn: Turn) -> None:
    if turn.state.may_start_anyway:
        finish(turn, words="stopped: too few nodes of this job can be used, and no other job can be had")
        return
    turn.say("starting on the nodes there are, as plain sbatch would")
    turn.set(may_start_anyway=True)
    turn.enter(Stage.PREPARING)


def _open_for_bad_nodes(turn: Turn) -> None:
    unfit = turn.state.unfit
    is_dead = any(node in turn.state.trouble for node in unfit)
    verdict = Verdict(
        cls=Class.HARDWARE if is_dead else Class.SOFTWARE,
        cause="node_unreachable" if is_dead else "node_misconfigured",
        confidence=0.6,
        summary="; ".join(f"{node}: {why}" for node, why in unfit.items()),
        blame=Blame(nodes=tuple(unfit)),
        retry=Retry.YES,
        exclude_nodes=tuple(unfit),
    )
    incident.open_incident(turn, evidence_at=turn.at)
    incident.diagnosed(turn, verdict)
    turn.change_incident(is_slurm_asked=True)
    turn.tell(decision(verdict, planned_action("resubmit", drop=tuple(unfit)), attempt=0, stops=False))


def _submitted_too_late(turn: Turn, event: Submitted) -> None:
    """The answer comes after the end. A run that a person cancelled or halted has no successor."""
    last = turn.state.finish
    is_ended = turn.state.term is not None or turn.state.halt is not None
    is_over = is_ended and last is not None and not last.handed_over
    is_unwanted = is_over and is_successor_unwanted(turn.state)
    if event.job_id is not None and event.job_id != turn.state.submitted and is_unwanted:
        turn.set(submitted=event.job_id, unwanted=event.job_id)
        turn.do(CancelJob(job_id=event.job_id))


def _halted_meanwhile(turn: Turn, event: Submitted) -> None:
    if event.job_id is not None:
        turn.set(submitted=event.job_id)
        take_back(turn)
    if turn.state.halt is not None:
        incident_action(turn, "stop")
        finish(turn, words=halted.words(turn.state.halt))


def _without(turn: Turn) -> str:
    return f", without {names(turn.state.exclude)}" if turn.state.exclude else ""
