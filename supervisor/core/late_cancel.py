"""SIGTERM when another job goes on with the run already: a person who cancels this job means the whole run.

The end of the job waits for Slurm's answer, once: a time limit, a preemption or a dead node leave the successor
alone, and so does a SIGTERM while Slurm lets the job run: that was meant for the script, which has ended.
"""

from supervisor.core import handover, incident
from supervisor.core.cause import SIGTERM, WORDS, find_cause
from supervisor.core.deadlines import asking_s
from supervisor.core.end import finish
from supervisor.core.events import SignalReceived, SlurmReported
from supervisor.core.instructions import AskSlurm
from supervisor.core.state import Stage, Term
from supervisor.core.turn import Turn


def signalled(turn: Turn, event: SignalReceived) -> None:
    """The first SIGTERM of this job comes after its hand-over."""
    last = turn.state.finish
    is_handed_over = last is not None and last.handed_over and turn.state.submitted is not None
    if event.number != SIGTERM or turn.state.term is not None or not is_handed_over:
        return
    turn.set(term=Term(at=turn.at, whole_step=event.whole_step))
    turn.say(f"SIGTERM while job {turn.state.submitted} takes over: asking Slurm who ends this job")
    ask(turn)


def is_asking(turn: Turn) -> bool:
    """The job is over but for Slurm's answer."""
    return turn.state.stage is Stage.FINISHED and turn.state.deadline is not None


def ask(turn: Turn) -> None:
    """Put the question (again)."""
    turn.set(deadline=turn.at + asking_s(turn.settings))
    turn.do(AskSlurm())


def slurm_said(turn: Turn, event: SlurmReported) -> None:
    """The answer, which may be that nothing is known."""
    if is_asking(turn):
        _settle(turn, find_cause(turn.state, event))


def late(turn: Turn) -> None:
    """Time has passed: an answer that is overdue is not waited for."""
    if is_asking(turn) and turn.state.deadline is not None and turn.at >= turn.state.deadline:
        _settle(turn, find_cause(turn.state, None))


def _settle(turn: Turn, cause: str) -> None:
    turn.change_term(is_answered=True, cause=cause)
    turn.set(deadline=None)
    if cause == "user_cancel":
        handover.take_back(turn)
        if turn.state.incident is not None and not turn.incident.record.is_closed:
            incident.acted(turn, action="stop", text=WORDS[cause])
        finish(turn, words=WORDS[cause], is_ended_by_term=True)
        return
    job = turn.state.submitted
    turn.say(f"{WORDS[cause]}; job {job} goes on with the run (scancel {job} ends it)")
    if turn.state.finish is not None:
        turn.do(turn.state.finish)
