"""The first SIGTERM: nothing is started any more, Slurm is asked once why, the script is given its time.

Without a positive cause nothing is submitted; what Slurm starts again itself is never submitted; a person's cancel
also takes back a successor that was submitted just before.
"""

from typing import Final

from supervisor.core import halted, handover, planned_record
from supervisor.core.cause import (
    POSITIVE,
    SIGTERM,
    WORDS,
    find_cause,
    is_before_end_of_grace,
    is_requeued_by_slurm,
    is_successor_unwanted,
)
from supervisor.core.deadlines import asking_s, leaving_s
from supervisor.core.end import finish
from supervisor.core.events import CheckpointChosen, Requeued, SignalReceived, SlurmReported, Submitted
from supervisor.core.instructions import AskSlurm, ChooseCheckpoint, StopAttempt, Submit
from supervisor.core.policy import excluded
from supervisor.core.state import Stage, State, Term
from supervisor.core.turn import Turn
from supervisor.core.wording import waits

_PAUSES_S: Final = (1.0, 3.0)
"""Before a submission that failed is tried again: Slurm kills the job some seconds after its SIGTERM (KillWait)."""


def signalled(turn: Turn, event: SignalReceived) -> None:
    """A signal to the batch pid; the keeper forwards them all. The first SIGTERM is the end."""
    if event.number != SIGTERM:
        _warned(turn)
        return
    if turn.state.term is not None:
        _signalled_again(turn, event)
    elif turn.state.stage is not Stage.FINISHED:
        turn.say("SIGTERM: nothing is started any more, the script has its time")
        begin(turn, whole_step=event.whole_step)


def _signalled_again(turn: Turn, event: SignalReceived) -> None:
    """Within the grace of a preemption, which is no signal's doing: a person may cancel the job, and so the run."""
    is_open = turn.state.stage is Stage.ENDING and turn.term.is_answered and turn.term.cause == "preemption"
    if is_open and event.whole_step and is_before_end_of_grace(turn.state, turn.at):
        turn.say("SIGTERM before the grace of the preemption is over: asking Slurm who ends this job")
        turn.change_term(at=turn.at, whole_step=True, is_answered=False, cause="")
        turn.set(deadline=turn.at + asking_s(turn.settings))
        turn.do(AskSlurm())


def _warned(turn: Turn) -> None:
    """What the script does from now on may be its answer to the signal."""
    attempt = turn.state.attempt
    if attempt is not None and attempt.is_live:
        turn.change_attempt(warned_at=turn.at)


def begin(turn: Turn, *, whole_step: bool = False, cause: str = "") -> None:
    """The job is being ended. `cause` where it is known already."""
    stage = turn.state.stage
    turn.set(
        term=Term(
            at=turn.at,
            whole_step=whole_step,
            is_answered=bool(cause),
            cause=cause,
            is_submitting=stage is Stage.SUBMITTING,
            is_submitted=stage in {Stage.SUBMITTING, Stage.REQUEUEING},
        )
    )
    turn.enter(Stage.ENDING)
    if not cause:
        turn.do(AskSlurm())
    if not turn.term.is_submitted:
        _look_for_progress(turn)
    if cause:
        settle(turn)


def slurm_said(turn: Turn, event: SlurmReported) -> None:
    """The one answer that decides about the cause."""
    if turn.state.stage is not Stage.ENDING or turn.term.is_answered:
        return
    turn.change_term(is_answered=True, cause=find_cause(turn.state, event))
    settle(turn)


def chosen(turn: Turn, event: CheckpointChosen) -> None:
    """The newest checkpoint at the end: whether a successor would get further."""
    if turn.state.stage is not Stage.ENDING or not turn.term.is_choosing:
        return
    step = event.choice.chosen.step if event.choice.chosen else None
    turn.change_term(is_choosing=False, newest_step=step)
    settle(turn)


def submitted(turn: Turn, event: Submitted) -> None:
    """A submission that was under way when SIGTERM came, or that was ordered because of it."""
    if turn.state.stage is not Stage.ENDING:
        return
    if event.outcome == "accepted":
        turn.set(submitted=event.job_id)
        if event.moved or event.left:
            turn.say(waits(turn.state.job_id, moved=event.moved, left=event.left))
    elif not turn.term.is_answered or turn.term.is_choosing:
        # Whether there is a cause is not known yet: as soon as it is, and not as one more try.
        turn.change_term(submit_at=turn.at)
        _look_for_progress(turn)
        return
    elif _may_submit_again(turn, event):
        _submit_later(turn, event)
        return
    else:
        turn.say(f"no successor: sbatch {event.outcome} ({event.text}); submit the run again to go on with it")
    turn.change_term(is_submitting=False)
    settle(turn)


def is_submission_due(turn: Turn) -> bool:
    """The pause after a submission that failed is over, and it is known whether there is a cause for it."""
    term = turn.state.term
    if turn.state.stage is not Stage.ENDING or term is None or term.submit_at is None:
        return False
    return turn.at >= term.submit_at and term.is_answered and not term.is_choosing


def order_submission(turn: Turn) -> None:
    """Order the successor (again), and wait for the answer.

    One that was ordered before SIGTERM, by a supervisor that was killed, is only looked for until there is a cause.
    """
    turn.change_term(submit_at=None)
    turn.set(deadline=turn.at + leaving_s(turn.settings))
    # The script may still be saving: the successor waits for the end of this job, which is near.
    # Whoever waits: a job that is being ended cannot be started again under its own id.
    only_look = not _is_wanted(turn)
    turn.do(
        Submit(
            exclude=turn.state.exclude,
            after_this_job=True,
            only_look=only_look,
            standby=turn.state.standby,
            whoever_waits=True,
        )
    )


def requeued(turn: Turn, event: Requeued) -> None:
    """The requeue that we asked for ends this job by SIGTERM: its answer may come after that."""
    if turn.state.stage is not Stage.ENDING:
        return
    if event.ok:
        turn.change_term(is_answered=True, cause="requeue")
        settle(turn)
    elif turn.state.rung == "requeue":
        turn.set(rung="submit")  # it was not our order then: the signal means what Slurm says of it


def started_late(turn: Turn) -> None:
    """An attempt that was ordered just before SIGTERM has started after all: it must not go on."""
    if turn.state.stage is Stage.ENDING and not turn.attempt.is_stopping:
        turn.change_attempt(is_stopping=True)
        turn.set(deadline=turn.at + leaving_s(turn.settings))
        turn.do(StopAttempt(attempt=turn.attempt.number, nodes=turn.attempt.nodes))


def settle(turn: Turn) -> None:
    """Submit if that is right, then finish as soon as the script has ended."""
    term = turn.term
    if not term.is_answered or term.is_choosing:
        return
    if _goes_on(turn) and not term.is_submitted:
        _submit(turn)
        return
    if is_successor_unwanted(turn.state):
        handover.take_back(turn)
    if _is_script_there(turn):
        turn.set(deadline=turn.at + leaving_s(turn.settings) if turn.attempt.is_stopping else None)
        return
    if turn.term.is_submitting:
        turn.set(deadline=turn.at + leaving_s(turn.settings))
        return
    _finish(turn)


def late(turn: Turn) -> None:
    """Answers are overdue: what is not known by now is not waited for."""
    term = turn.term
    if term.is_answered and not term.is_choosing:
        if not _is_script_there(turn) or turn.attempt.is_stopping:
            _finish(turn)
        else:
            turn.change_term(is_submitting=False)
            turn.set(deadline=None)
            turn.say("no answer to the submission of a successor")
        return
    cause = term.cause if term.is_answered else find_cause(turn.state, None)
    turn.change_term(is_answered=True, is_choosing=False, cause=cause)
    turn.say("no answer in time about why the job ends")
    settle(turn)


def _is_script_there(turn: Turn) -> bool:
    """The script runs, or comes to its end by our doing; one that was only ordered when SIGTERM came never begins."""
    attempt = turn.state.attempt
    return attempt is not None and attempt.is_live and (attempt.is_started or attempt.is_stopping)


def ask_again(turn: Turn) -> None:
    """After a takeover: what was under way is asked again, in the same order."""
    turn.enter(Stage.ENDING)
    if not turn.term.is_answered:
        turn.do(AskSlurm())
    if turn.term.is_choosing:
        turn.do(_choose_order(turn))
    if turn.term.is_submitting:
        order_submission(turn)


def _look_for_progress(turn: Turn) -> None:
    if turn.settings.checkpoint and not turn.is_observing and not turn.term.is_choosing:
        turn.change_term(is_choosing=True)
        turn.do(_choose_order(turn))


def _choose_order(turn: Turn) -> ChooseCheckpoint:
    behind = turn.state.behind
    return ChooseCheckpoint(attempt=turn.state.next_attempt, known_step=behind.checkpoint_step, avoid=behind.distrusted)


def _goes_on(turn: Turn) -> bool:
    """A successor is wanted: a positive cause, nobody else sees to it, and it would get further."""
    if turn.is_observing or turn.state.halt is not None:
        return False
    if turn.term.cause == "node_failure" and turn.state.standby is not None:
        # Nothing is submitted for that, but this one was in the queue long before.
        return not is_successor_unwanted(turn.state)
    if turn.term.cause not in POSITIVE:
        return False
    if turn.term.cause == "preemption":
        return not is_requeued_by_slurm(turn.state)
    return bool(turn.settings.checkpoint) and has_progress(turn.state, turn.term.newest_step)


def has_progress(state: State, newest: int | None) -> bool:
    """A checkpoint newer than all that this job started from; where none could be read, steps beyond it."""
    known = state.behind.checkpoint_step
    if newest is not None:
        return known is None or newest > known
    step = state.attempt.step if state.attempt else None
    return step is not None and step > (known or 0)


def _submit(turn: Turn) -> None:
    turn.change_behind(excluded=excluded(turn.state))
    turn.set(exclude=turn.state.behind.excluded, rung="submit")
    turn.change_term(is_submitting=True, is_submitted=True)
    order_submission(turn)


def _may_submit_again(turn: Turn, event: Submitted) -> bool:
    """Where nobody knows whether there is a job, it is looked for without a cause too: it may have to be cancelled."""
    return turn.term.tries < len(_PAUSES_S) and (event.outcome == "unknown" or _is_wanted(turn))


def _is_wanted(turn: Turn) -> bool:
    """All answers are there, and they are for a successor. A dead node is reason enough for one ordered before it."""
    term = turn.term
    if not term.is_answered or term.is_choosing:
        return False
    is_for_dead_node = term.cause == "node_failure" and not turn.is_observing
    return _goes_on(turn) or (is_for_dead_node and not is_successor_unwanted(turn.state))


def _submit_later(turn: Turn, event: Submitted) -> None:
    """Once more after a pause; the hands look for a job that an unheard sbatch made before they submit another."""
    tries = turn.term.tries
    if not tries:
        turn.say(f"sbatch {event.outcome} ({event.text}); trying again while this job has time")
    turn.change_term(tries=tries + 1, submit_at=turn.at + _PAUSES_S[tries])


def _finish(turn: Turn) -> None:
    cause = turn.term.cause
    goes_on = turn.state.submitted is not None or cause == "requeue"
    halt = turn.state.halt
    words = halted.words(halt) if halt is not None and halt.is_now else WORDS[cause]
    if turn.state.submitted is not None:
        words += f"; job {turn.state.submitted} goes on with the run"
    planned_record.keep(turn, cause, words, goes_on=goes_on, evidence_at=turn.term.at)
    finish(turn, words=words, handed_over=goes_on, is_ended_by_term=True)
