"""One interruption, from its first sign to the decision what is done about it."""

from typing import Final

from supervisor.core import halted, incident, launch, limit, planned, stopping, watch
from supervisor.core.answer_to_signal import is_answer_to_signal
from supervisor.core.cause import POSITIVE
from supervisor.core.end import finish
from supervisor.core.events import AttemptEnded, Diagnosed
from supervisor.core.instructions import AskSlurm, Collect
from supervisor.core.policy import decide
from supervisor.core.remember import remember
from supervisor.core.state import Exit, Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import completed, decision, ended_by, silence, standstill, verdict_name
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Class, Retry, Verdict

_COLLECTS: Final = 3
"""Supervisors that gather the evidence of one incident, before it is left alone: it may be what kills them."""


def interrupted(turn: Turn, *, evidence_at: float, lost: tuple[NodeName, ...] = ()) -> None:
    """The running attempt is broken: gather the evidence."""
    attempt = turn.attempt
    incident.open_incident(turn, evidence_at=evidence_at, lost=lost)
    turn.enter(Stage.COLLECTING)
    _ask(turn)
    if lost:
        seen = turn.state.trouble
        told = [silence(node, silent_s=turn.at - seen[node].since, probe=seen[node].text) for node in lost]
        turn.say("; ".join(told))
    elif attempt.exit is None and attempt.hung_at is not None:
        turn.say(standstill(turn.at - attempt.hung_at))
    elif attempt.exit is not None:
        turn.say(f"attempt {attempt.number} ended with {ended_by(attempt.exit.code, attempt.exit.signal)}")


def ended(turn: Turn, event: AttemptEnded) -> None:
    """The script has ended, by itself or by our doing."""
    attempt = turn.state.attempt
    if attempt is None or event.attempt != attempt.number or attempt.exit is not None:
        return
    status = Exit(code=event.code, signal=event.signal)
    turn.change_attempt(is_started=True, exit=status)
    match turn.state.stage:
        case Stage.ENDING:
            planned.settle(turn)
        case Stage.LAUNCHING | Stage.RUNNING:
            _ended_by_itself(turn, status)
        case Stage.COLLECTING if status.is_good:
            _ended_well_after_all(turn)
        case Stage.STOPPING if attempt.is_gone:
            stopping.after_stop(turn)
        case _:
            pass


def interruptions(turn: Turn) -> int:
    """Interruptions of the whole run, without planned stops."""
    return turn.state.behind.incidents - turn.state.behind.planned


def diagnosed(turn: Turn, event: Diagnosed) -> None:
    """The verdict on the incident at hand."""
    current = turn.state.incident
    if turn.state.stage is not Stage.COLLECTING or current is None or current.is_diagnosed:
        return
    if event.incident != current.record.incident:
        return
    incident.diagnosed(turn, event.verdict)
    if event.step is not None:
        incident.was_further(turn, event.step)
    act_if_known(turn)


def act_if_known(turn: Turn) -> None:
    """Verdict and Slurm's answer are both there: decide."""
    current = turn.state.incident
    if turn.state.stage is not Stage.COLLECTING or current is None:
        return
    if current.is_diagnosed and current.is_slurm_asked:
        _act(turn)


def launch_again(turn: Turn) -> None:
    """An order to launch that was not answered is given again, unless one of its nodes is lost by now."""
    lost = watch.lost_of_attempt(turn)
    if lost and not turn.is_observing:
        interrupted(turn, evidence_at=min(turn.state.trouble[node].since for node in lost), lost=lost)
    else:
        launch.launch_again(turn)


def late(turn: Turn) -> None:
    """The stage's time is over."""
    if turn.state.stage is Stage.COLLECTING:
        turn.change_incident(is_slurm_asked=True)
        if not turn.incident.is_diagnosed:
            incident.diagnosed(turn, incident.no_verdict(turn.attempt))
        act_if_known(turn)
    else:
        stopping.late(turn)


def ask_again(turn: Turn) -> None:
    """After a takeover: what was asked for in this stage is asked again."""
    if turn.state.stage is Stage.COLLECTING:
        _collect_again(turn)
    elif turn.state.stage is Stage.LEAVING:
        limit.ended(turn)
    else:
        stopping.order_stop(turn)


def _collect_again(turn: Turn) -> None:
    tries = turn.state.tries + 1
    turn.enter(Stage.COLLECTING)
    turn.set(tries=tries)
    turn.change_incident(is_diagnosed=False, is_slurm_asked=False)
    if tries < _COLLECTS:
        _ask(turn)
    else:
        late(turn)


def _ended_by_itself(turn: Turn, status: Exit) -> None:
    if turn.state.halt is not None:
        # It was asked to save and stop.
        halted.keep(turn)
        finish(turn, words=halted.words(turn.state.halt))
    elif limit.is_heard(turn):
        limit.ended(turn)
    elif status.is_good:
        finish(turn, words=completed(interruptions(turn)))
    elif is_answer_to_signal(turn):
        finish(turn, words=f"the script ended after a signal, with {ended_by(status.code, status.signal)}")
    elif turn.attempt.is_observed:
        finish(turn, words=stopping.last_words(turn))
    else:
        interrupted(turn, evidence_at=turn.attempt.failed_at or turn.at, lost=watch.lost_of_attempt(turn))


def _ended_well_after_all(turn: Turn) -> None:
    """A finished run is finished, whatever was seen of single ranks just before."""
    words = "the script ended well by itself"
    verdict = Verdict(cls=Class.PLANNED, cause="completed", confidence=0.9, summary=words, retry=Retry.NO)
    incident.diagnosed(turn, verdict)
    incident.acted(turn, action="none", text=words)
    incident.close_planned(turn)
    if limit.is_heard(turn):
        limit.ended(turn)
    else:
        finish(turn, words=completed(interruptions(turn)))


def _ask(turn: Turn) -> None:
    attempt, record = turn.attempt, turn.incident.record
    status = attempt.exit or Exit()
    turn.do(
        AskSlurm(),
        Collect(
            incident=record.incident,
            attempt=attempt.number,
            lost_nodes=tuple(dict.fromkeys([*turn.incident.lost, *watch.suspected(turn)])),
            code=status.code,
            signal=status.signal,
            hung_s=_hung_s(turn),
        ),
    )


def _hung_s(turn: Turn) -> float | None:
    attempt = turn.attempt
    return None if attempt.hung_at is None or attempt.exit is not None else turn.at - attempt.hung_at


def _act(turn: Turn) -> None:
    verdict = turn.incident.record.verdict
    if verdict.cls is Class.PLANNED and verdict.cause in POSITIVE:
        planned.begin(turn, cause=verdict.cause)
        return
    for node in (*turn.incident.lost, *verdict.exclude_nodes):
        launch.note_unfit(turn, node, verdict_name(verdict))
    wanted = decide(verdict, turn.state, turn.settings, turn.at)
    if not turn.is_observing:
        remember(turn, verdict, wanted)
    incident.acted(turn, action=wanted.action, text=wanted.text)
    attempt = turn.attempt
    stops = attempt.is_live and wanted.action != "observe"
    turn.tell(decision(verdict, wanted.text, attempt=attempt.number, stops=stops))
    if wanted.action == "observe":
        _leave_alone(turn)
    elif wanted.action == "stop" and not attempt.is_live:
        finish(turn, words=stopping.last_words(turn), is_told=True)
    else:
        stopping.order_stop(turn)


def _leave_alone(turn: Turn) -> None:
    """Observe mode: recorded, and no budget used."""
    incident.change_record(turn, is_closed=True)
    incident.keep(turn)
    turn.change_attempt(is_observed=True)
    if turn.attempt.is_live:
        turn.enter(Stage.RUNNING)
    else:
        finish(turn, words="ended, with nothing done about it (mode observe)")
