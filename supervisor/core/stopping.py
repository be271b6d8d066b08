"""An attempt is stopped with proof, and then what was decided is done."""

from typing import Final

from supervisor.core import halted, handover, incident, launch, planned, watch
from supervisor.core.end import finish
from supervisor.core.events import Stopped
from supervisor.core.instructions import StopAttempt
from supervisor.core.state import Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import verdict_name

_STOPS: Final = 3
"""Orders to stop with proof, each with a deadline of its own, before the proof is given up."""


def order_stop(turn: Turn) -> None:
    """Stop the attempt with proof on every node that is not known to be lost."""
    attempt, tries = turn.attempt, turn.state.tries if turn.state.stage is Stage.STOPPING else 0
    turn.enter(Stage.STOPPING)
    turn.set(tries=tries)
    turn.change_attempt(is_stopping=attempt.is_stopping or attempt.exit is None)
    if turn.incident.record.action.startswith("relaunch"):
        # Beside the stop: Slurm keeps the step of a dead node, and its resources, until the node has left the job.
        launch.take_out(turn, only=watch.lost_of_attempt(turn))
    turn.do(stop_order(turn))


def stop_order(turn: Turn) -> StopAttempt:
    """The order to stop the present attempt."""
    attempt, state = turn.attempt, turn.state
    lost = set(state.incident.lost) if state.incident else set()
    lost |= {node for node in state.trouble if node in state.unfit} | set(state.unkillable)
    return StopAttempt(
        attempt=attempt.number,
        nodes=attempt.nodes,
        lost=tuple(node for node in attempt.nodes if node in lost or node in state.out),
    )


def stopped(turn: Turn, event: Stopped) -> None:
    """The proof, or who is in its way."""
    attempt = turn.state.attempt
    if attempt is None or event.attempt != attempt.number:
        return
    if event.is_proven:
        turn.change_attempt(is_gone=True)
    if turn.state.stage is Stage.ENDING:
        planned.settle(turn)
    if turn.state.stage is not Stage.STOPPING:
        return
    _note_obstacles(turn, event)
    if not event.is_proven:
        _stop_again(turn, event.text)
    elif turn.attempt.exit is not None or not turn.attempt.is_started:
        after_stop(turn)


def started_late(turn: Turn) -> None:
    """An attempt that was held to be gone before it began has started after all: it is stopped again."""
    attempt = turn.attempt
    is_between = turn.state.stage in {Stage.SHRINKING, Stage.CHECKING}
    if attempt.is_gone and attempt.is_started and attempt.is_live and is_between:
        turn.change_attempt(is_gone=False)
        order_stop(turn)


def after_stop(turn: Turn) -> None:
    """Nothing lives: do what was decided."""
    incident.stopped(turn)
    match turn.incident.record.action:
        case "stop":
            finish(turn, words=last_words(turn), is_told=True)
        case "resubmit":
            handover.submit(turn)
        case _:
            launch.go_on(turn)


def late(turn: Turn) -> None:
    """The stage's time is over."""
    if turn.attempt.is_gone:
        _stop_again(turn, "the keeper does not say how the script ended")
    else:
        stopped(turn, Stopped(at=turn.at, attempt=turn.attempt.number, is_proven=False, text="no answer in time"))


def last_words(turn: Turn) -> str:
    """What was decided about the incident, for the end of the job."""
    if turn.state.halt is not None:
        return halted.words(turn.state.halt)
    record = turn.incident.record
    summary = f", {record.verdict.summary.rstrip('.')}" if record.verdict.summary else ""
    return f"{verdict_name(record.verdict)}{summary}; {record.action_text}"


def _note_obstacles(turn: Turn, event: Stopped) -> None:
    """Nodes with something that cannot be killed, or that fell silent meanwhile, must leave."""
    state = turn.state
    silent = tuple(node for node in event.unreachable if node not in {state.batch_host, *turn.incident.lost})
    for node in event.unkillable:
        launch.note_unfit(turn, node, "a process cannot be killed")
    for node in silent:
        launch.note_unfit(turn, node, "gave no answer while the attempt was stopped")
    unkillable = tuple(dict.fromkeys([*state.unkillable, *event.unkillable]))
    turn.set(unkillable=unkillable)
    turn.change_incident(lost=tuple(dict.fromkeys([*turn.incident.lost, *silent])))


def _stop_again(turn: Turn, text: str) -> None:
    tries = turn.state.tries + 1
    if tries < _STOPS:
        turn.set(tries=tries)
        order_stop(turn)
        return
    turn.set(is_unproven=True)
    turn.say(f"attempt {turn.attempt.number} cannot be proven stopped ({text}): nothing is started in this job")
    incident.stopped(turn)
    if turn.incident.record.action == "stop":
        finish(turn, words=last_words(turn))
    else:
        handover.submit(turn)
