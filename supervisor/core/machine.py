"""The one place where events meet the state: `handle` is pure, so each run can be replayed from its event log."""

from collections.abc import Iterable

import msgspec

from supervisor.core import (
    breaker,
    halt,
    handover,
    incident,
    late_cancel,
    launch,
    leaving,
    limit,
    orders,
    planned,
    recover,
    standby,
    stopping,
    takeover,
    ticks,
    watch,
)
from supervisor.core.accounting import requested_at_start
from supervisor.core.carried import Carried
from supervisor.core.events import (
    AgentSilent,
    AgentUp,
    AttemptEnded,
    AttemptStarted,
    CheckpointChosen,
    Diagnosed,
    Event,
    Hung,
    KeeperReported,
    LineSeen,
    NodeProbed,
    NodesChecked,
    Ordered,
    Progressed,
    RankFailed,
    RanksSeen,
    Requeued,
    RunStarted,
    Saved,
    Shrunk,
    SignalReceived,
    SlurmReported,
    Stalled,
    Stopped,
    Submitted,
    SupervisorStarted,
    Tick,
)
from supervisor.core.instructions import Instruction
from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.core.state import Stage, State
from supervisor.core.turn import Turn
from supervisor.settings import Settings


def handle(state: State, event: Event, settings: Settings) -> tuple[State, tuple[Instruction, ...]]:
    """The state after the event, and what is to be done, in this order."""
    turn = Turn(state, _now(state, settings), event.at)
    if isinstance(event, RunStarted):
        _run_started(turn, event)
    elif state.stage is Stage.FINISHED:
        _after_the_end(turn, event)
    elif state.stage is not Stage.NEW:
        _handle(turn, event)
    standby.follow(turn, state)
    if isinstance(event, Tick) and not turn.out:
        # Such a tick is not recorded, so it must not change anything either.
        return state, ()
    return turn.state, tuple(turn.out)


def _now(state: State, settings: Settings) -> Settings:
    """The settings as they count now: a person may have changed the mode."""
    return msgspec.structs.replace(settings, mode=state.behind.mode) if state.behind.mode else settings


def replay(events: Iterable[Recorded], settings: Settings) -> State:
    """The state after these events; what they once led to is not done again."""
    state = State()
    for event in events:
        state = event.state if isinstance(event, Snapshot) else handle(state, event, settings)[0]
    return state


def _run_started(turn: Turn, event: RunStarted) -> None:
    """A job begins: everything is new but what the run carries over."""
    behind = event.carried or Carried()
    turn.state = State(
        run_id=event.run_id,
        job_id=event.job_id,
        nodes=event.nodes,
        batch_host=event.batch_host,
        spares=event.spares,
        started_at=event.at,
        walltime_at=event.walltime_at,
        preempt_mode=event.preempt_mode,
        standby=event.standby,
        has_script=event.has_script,
        is_waited_for=event.is_waited_for,
        is_first_job=event.carried is None,
        halt=behind.halt,
        # The last order may have been carried out by a job that did not live to take it away.
        answers=turn.state.answers,
        behind=msgspec.structs.replace(behind, open_incident=None, halt=None),
        stage=Stage.PREPARING,
    )
    if event.carried is None:
        turn.change_behind(requested_node_seconds=requested_at_start(turn.state))
    if behind.open_incident is not None:
        turn.set(incident=incident.taken_over(behind.open_incident, event.at))
        incident.keep(turn)
    launch.go_on(turn)


def _after_the_end(turn: Turn, event: Event) -> None:
    match event:
        case Submitted():
            handover.submitted(turn, event)
        case Ordered():
            orders.ordered(turn, event)
        case SupervisorStarted():
            takeover.began(turn, event)
        case KeeperReported():
            takeover.keeper_said(turn, event)
        case SignalReceived():
            late_cancel.signalled(turn, event)
        case SlurmReported():
            late_cancel.slurm_said(turn, event)
        case Tick():
            late_cancel.late(turn)
        case _:
            pass


def _handle(turn: Turn, event: Event) -> None:
    match event:
        case AgentUp() | AgentSilent() | NodeProbed() | SlurmReported() | Tick():
            _of_nodes(turn, event)
        case AttemptStarted() | AttemptEnded():
            _of_attempt(turn, event)
        case RanksSeen() | Progressed() | Saved() | Stalled() | Hung() | RankFailed() | LineSeen():
            _of_attempt(turn, event)
        case SupervisorStarted():
            takeover.began(turn, event)
        case KeeperReported():
            takeover.keeper_said(turn, event)
        case SignalReceived():
            planned.signalled(turn, event)
        case Ordered():
            orders.ordered(turn, event)
        case NodesChecked() | Diagnosed() | Stopped() | Shrunk() | CheckpointChosen() | Submitted() | Requeued():
            _answer(turn, event)
        case RunStarted():
            pass


def _of_nodes(turn: Turn, event: AgentUp | AgentSilent | NodeProbed | SlurmReported | Tick) -> None:
    match event:
        case AgentUp():
            watch.heard(turn, event)
        case AgentSilent():
            watch.silent(turn, event)
        case NodeProbed():
            watch.probed(turn, event)
        case SlurmReported():
            watch.slurm_said(turn, event)
            breaker.slurm_said(turn, event)
            limit.slurm_said(turn)
            ticks.slurm_said(turn, event)
        case Tick():
            # A node may be given up for lost by age alone: before anything is started on it.
            ticks.judge_losses(turn)
            ticks.tick(turn)
            halt.look(turn)
            limit.look(turn)
            leaving.look(turn)
            return
    ticks.judge_losses(turn)


def _of_attempt(
    turn: Turn,
    event: AttemptStarted | AttemptEnded | RanksSeen | Progressed | Saved | Stalled | Hung | RankFailed | LineSeen,
) -> None:
    if isinstance(event, AttemptStarted):
        launch.started(turn, event)
        if turn.state.attempt is not None and event.attempt == turn.attempt.number:
            planned.started_late(turn)
            stopping.started_late(turn)
    elif turn.state.attempt is None or event.attempt != turn.state.attempt.number:
        return
    elif isinstance(event, AttemptEnded):
        recover.ended(turn, event)
    else:
        ticks.seen(turn, event)


def _answer(
    turn: Turn,
    event: NodesChecked | Diagnosed | Stopped | Shrunk | CheckpointChosen | Submitted | Requeued,
) -> None:
    ticks.judge_losses(turn)
    match event:
        case NodesChecked():
            launch.checked(turn, event)
        case Diagnosed():
            recover.diagnosed(turn, event)
        case Stopped():
            stopping.stopped(turn, event)
        case Shrunk():
            launch.shrunk(turn, event)
        case CheckpointChosen():
            launch.chosen(turn, event)
            planned.chosen(turn, event)
            halt.chosen(turn, event)
            limit.chosen(turn, event)
            leaving.chosen(turn, event)
        case Submitted():
            handover.submitted(turn, event)
            planned.submitted(turn, event)
        case Requeued():
            handover.requeued(turn, event)
            planned.requeued(turn, event)
    launch.go_on_anyway(turn)
