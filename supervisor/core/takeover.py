"""A supervisor that begins again: open questions are asked anew, and the keeper says what became of the attempt."""

from supervisor.core import handover, late_cancel, launch, planned, recover, resume, shrinking, watch
from supervisor.core.cause import SIGTERM
from supervisor.core.events import AttemptEnded, KeeperReported, SignalReceived, SupervisorStarted
from supervisor.core.instructions import CancelJob
from supervisor.core.state import Stage
from supervisor.core.turn import Turn


def began(turn: Turn, event: SupervisorStarted) -> None:
    """Ask again for what was open. The first supervisor of a job has nothing open but what it has just asked."""
    turn.set(generation=event.generation)
    if event.generation > 1:
        watch.forget_open(turn)
        _ask_again(turn)


def _ask_again(turn: Turn) -> None:
    if turn.state.unwanted is not None:
        turn.do(CancelJob(job_id=turn.state.unwanted))
    if turn.state.shrinking and turn.state.stage not in {Stage.ENDING, Stage.FINISHED}:
        turn.do(shrinking.order(turn))
    match turn.state.stage:
        case Stage.PREPARING | Stage.CHECKING:
            launch.ask_again(turn)
        case Stage.LAUNCHING:
            # The keeper's report, which comes next, says whether the order arrived.
            turn.enter(Stage.LAUNCHING)
        case Stage.COLLECTING | Stage.STOPPING | Stage.LEAVING:
            recover.ask_again(turn)
        case Stage.SHRINKING:
            _shrink_again(turn)
        case Stage.SUBMITTING | Stage.REQUEUEING:
            handover.order_again(turn)
        case Stage.ENDING:
            planned.ask_again(turn)
        case Stage.FINISHED:
            _end_again(turn)
        case _:
            pass


def _end_again(turn: Turn) -> None:
    if late_cancel.is_asking(turn):
        late_cancel.ask(turn)
    elif turn.state.finish is not None:
        turn.do(turn.state.finish)


def keeper_said(turn: Turn, event: KeeperReported) -> None:
    """The keeper's word on attempts is final: it is the one that starts and reaps them."""
    if turn.state.stage is Stage.NEW:
        return
    is_over = turn.state.stage is Stage.FINISHED
    # First of all: what is found out about the attempt must not lead to a start after it.
    if SIGTERM in event.signals:
        said = late_cancel.signalled if is_over else planned.signalled
        said(turn, SignalReceived(at=turn.at, number=SIGTERM))
    if not is_over:
        _reconcile(turn, event)


def _reconcile(turn: Turn, event: KeeperReported) -> None:
    # One that has ended before the order at hand was given is no stranger, only the attempt before.
    is_candidate = event.is_alive or turn.state.attempt is None or event.attempt >= turn.state.next_attempt
    if is_candidate and launch.is_unknown(turn, event.attempt):
        launch.adopt(turn, event.attempt, is_unsupervised=event.is_unsupervised)
    attempt = turn.state.attempt
    if attempt is None:
        return
    if event.attempt < attempt.number:
        if turn.state.stage is Stage.LAUNCHING:
            recover.launch_again(turn)
        return
    if not attempt.is_started:
        turn.change_attempt(is_started=True)
    if event.is_alive:
        if turn.state.stage is Stage.LAUNCHING:
            turn.enter(Stage.RUNNING)
        return
    recover.ended(turn, AttemptEnded(at=turn.at, attempt=attempt.number, code=event.code, signal=event.signal))


def _shrink_again(turn: Turn) -> None:
    turn.enter(Stage.SHRINKING)
    # The checkpoint finder was asked at the same time.
    if turn.state.is_choosing:
        turn.set(is_choosing=False)
        resume.choose(turn)
