"""From nothing to a running attempt: leave, check, choose, launch. `go_on` does the next thing that is missing."""

from collections.abc import Collection
from typing import Final

import msgspec

from supervisor.core import halted, handover, incident, resume, shrinking
from supervisor.core.accounting import with_restart
from supervisor.core.end import finish
from supervisor.core.events import AttemptStarted, CheckpointChosen, NodesChecked, Shrunk
from supervisor.core.instructions import CheckNodes, LaunchAttempt
from supervisor.core.placement import Placement, candidates, is_silent, leaving, place
from supervisor.core.state import Attempt, Check, Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import launched, names
from supervisor.model.facts import Choice
from supervisor.model.ids import AttemptNo, NodeName

_CHECKS: Final = 3
"""Questions of tier 0 to nodes that are needed and do not answer, before they are given up."""
_LAUNCHES: Final = 3


def go_on(turn: Turn) -> None:
    """Whatever is missing before a launch is begun; when nothing is, the attempt is launched."""
    if turn.state.halt is not None:
        halted.keep(turn)
        finish(turn, words=halted.words(turn.state.halt))
        return
    placement = place(turn.state, turn.settings)
    if placement is None:
        handover.no_nodes(turn)
        go_on_anyway(turn)
        return
    if take_out(turn):
        resume.choose(turn)
        if turn.state.stage is not Stage.SHRINKING:
            turn.enter(Stage.SHRINKING)
        return
    if _is_waiting(turn):
        return
    resume.choose(turn)
    if placement.unchecked:
        _check(turn, placement)
    elif turn.state.choice is not None:
        if resume.is_checked_again(turn):
            _launch(turn, placement)
        else:
            turn.enter(_looking(turn))
    elif turn.state.stage not in {Stage.PREPARING, Stage.CHECKING}:
        turn.enter(_looking(turn))


def _is_waiting(turn: Turn) -> bool:
    """The pause before this attempt is not over. What is asked now would be stale by then: checks come after it."""
    until = turn.state.not_before
    if until is None or turn.at >= until:
        turn.set(not_before=None)
        return False
    turn.enter(_looking(turn))
    turn.set(deadline=until)
    return True


def go_on_anyway(turn: Turn) -> None:
    """No other job could be had: the first attempt starts in this one after all."""
    if turn.state.may_start_anyway and turn.state.is_first and turn.state.stage is Stage.PREPARING:
        go_on(turn)


def checked(turn: Turn, event: NodesChecked) -> None:
    """Tier 0 has answered. Answers to older questions, and to those that only start agents, are not for us."""
    check = turn.state.check
    if check is None or event.ask != check.ask or check.answer is not None:
        return
    left = set(check.nodes) - set(event.good) - set(event.bad)
    event = msgspec.structs.replace(event, silent=tuple(node for node in check.nodes if node in left))
    turn.set(check=msgspec.structs.replace(check, answer=event))
    for node, why in event.bad.items():
        note_unfit(turn, node, f"tier 0: {why}")
    if event.bad:
        turn.say("; ".join(f"{node} fails tier 0 ({why})" for node, why in sorted(event.bad.items())))
    if event.silent and not event.good and turn.state.is_first and not turn.state.is_silence_told:
        turn.set(is_silence_told=True)
        turn.say("no agent answers: the job starts without a view of its nodes")
    _give_up_silent(turn)
    if turn.state.stage in {Stage.PREPARING, Stage.CHECKING}:
        go_on(turn)


def chosen(turn: Turn, event: CheckpointChosen) -> None:
    """Where the next attempt resumes is known, or is asked again."""
    resume.chosen(turn, event)
    if turn.state.stage in {Stage.PREPARING, Stage.CHECKING} and turn.state.choice is not None:
        go_on(turn)


def take_out(turn: Turn, *, only: Collection[NodeName] | None = None) -> bool:
    """Begin to take unfit nodes out of the job, one order at a time; whether one is under way now.

    A dead node that stays would end the whole job as soon as Slurm notices, even if the attempt does not use it.
    `only`: none but these, while the attempt is being stopped. A node that answers must stay until it has proven that
    nothing lives there: its leaving ends its agent, and no signal reaches it any more.
    """
    if turn.state.shrinking:
        return True
    # What still runs on a node ends with its leaving: an attempt that is not being stopped keeps its nodes.
    used = turn.attempt.nodes if turn.state.stage is Stage.RUNNING else ()
    drop = () if turn.is_observing else tuple(node for node in leaving(turn.state) if node not in used)
    drop = tuple(node for node in drop if only is None or node in only)
    if drop:
        turn.set(shrinking=drop)
        turn.do(shrinking.order(turn))
    return bool(drop)


def shrunk(turn: Turn, event: Shrunk) -> None:
    """Nodes have left the job, or Slurm refuses. A late answer to an older order is still a fact."""
    state = turn.state
    if event.ok:
        shrinking.succeeded(turn, event)
    if set(event.dropped) != set(state.shrinking):
        return
    turn.set(shrinking=())
    if not event.ok:
        shrinking.failed(turn, event)
        if set(event.dropped) & set(state.unkillable):
            turn.set(is_unproven=True)
    if turn.state.stage is Stage.SHRINKING:
        turn.enter(_looking(turn))
        go_on(turn)
    elif turn.state.stage is Stage.RUNNING:
        take_out(turn)


def started(turn: Turn, event: AttemptStarted) -> None:
    """The keeper has started the script: the one we ordered, or attempt 1 by itself because we were too late."""
    state = turn.state
    if is_unknown(turn, event.attempt):
        adopt(turn, event.attempt, is_unsupervised=True)
    elif state.attempt is None or event.attempt != state.attempt.number or not state.attempt.is_live:
        return
    turn.change_attempt(is_started=True)
    if turn.state.stage is Stage.LAUNCHING:
        turn.enter(Stage.RUNNING)


def is_unknown(turn: Turn, number: AttemptNo) -> bool:
    """The keeper has started this attempt by itself. It counts from 1 in each job, also where the run is further."""
    attempt = turn.state.attempt
    is_ours = attempt is not None and (attempt.is_started or attempt.number == number)
    return number >= turn.state.next_attempt or (number > 0 and not is_ours)


def adopt(turn: Turn, number: AttemptNo, *, is_unsupervised: bool) -> None:
    """An attempt that we did not launch runs on all nodes: watched from now on like our own."""
    turn.change_behind(attempts=AttemptNo(max(number, turn.state.behind.attempts)))
    attempt = Attempt(
        number=number,
        nodes=turn.state.held,
        launched_at=turn.at,
        is_started=True,
        is_unsupervised=is_unsupervised,
    )
    turn.set(attempt=attempt, saving=None, check=None, choice=None, is_choosing=False, choose_at=None, shrinking=())
    if turn.state.stage in {Stage.PREPARING, Stage.CHECKING, Stage.SHRINKING, Stage.LAUNCHING, Stage.NEW}:
        turn.enter(Stage.RUNNING)
    turn.say(f"attempt {number} was started without supervision; it is watched from now on")


def note_unfit(turn: Turn, node: NodeName, why: str) -> None:
    """No attempt of this job may use the node any more."""
    if node in turn.state.held and node not in turn.state.unfit:
        turn.set(unfit={**turn.state.unfit, node: why})


def late(turn: Turn) -> None:
    """The stage's time is over, a pause is, or a second look is due."""
    if turn.state.not_before is not None and turn.state.stage is not Stage.SHRINKING:
        go_on(turn)
    elif turn.state.stage is Stage.SHRINKING:
        shrunk(
            turn, Shrunk(at=turn.at, dropped=turn.state.shrinking, ok=False, is_heard=False, text="no answer in time")
        )
    else:
        _look_again(turn)


def look_later(turn: Turn) -> None:
    """The checkpoint store is asked again: its pause is over."""
    turn.set(choose_at=None)
    turn.enter(_looking(turn))
    resume.choose(turn)


def ask_again(turn: Turn) -> None:
    """After a takeover: the answers of tier 0 and of the checkpoint finder are lost, if they were asked."""
    check = turn.state.check
    turn.set(is_choosing=False, choose_at=None)
    if check is not None and check.answer is None:
        turn.set(check=None)
    turn.enter(_looking(turn))
    go_on(turn)


def _looking(turn: Turn) -> Stage:
    return Stage.PREPARING if turn.state.is_first else Stage.CHECKING


def _check(turn: Turn, placement: Placement) -> None:
    """Ask tier 0, unless an answer is under way."""
    check = turn.state.check
    if check is not None and check.answer is None:
        return
    if check is not None and any(is_silent(turn.state, node) for node in placement.unchecked):
        turn.say(f"{names(placement.unchecked)}: no answer to tier 0; asking again")
    number = turn.state.asks + 1
    ask = f"check-{turn.state.next_attempt}-{number}"
    nodes = candidates(turn.state, placement)
    turn.enter(_looking(turn))
    turn.set(asks=number, check=Check(ask=ask, nodes=nodes, repeats=check.repeats + 1 if check else 0))
    turn.do(CheckNodes(ask=ask, nodes=nodes))


def _give_up_silent(turn: Turn) -> None:
    """Before a relaunch a node must answer; one that never does is not used."""
    check = turn.state.check
    if turn.state.is_first or check is None or check.answer is None or check.repeats + 1 < _CHECKS:
        return
    for node in check.answer.silent:
        if node != turn.state.batch_host:
            note_unfit(turn, node, "gave no answer to tier 0")


def _launch(turn: Turn, placement: Placement) -> None:
    state = turn.state
    best = state.choice.chosen if state.choice else None
    attempt = Attempt(
        number=state.next_attempt,
        nodes=placement.nodes,
        launched_at=turn.at,
        resumed_from=best.path if best else None,
        resumed_step=best.step if best else None,
    )
    turn.enter(Stage.LAUNCHING)
    turn.change_behind(attempts=attempt.number)
    turn.set(attempt=attempt, check=None, choice=None, choice_tries=0, saving=None)
    is_recovery = turn.state.incident is not None and not turn.incident.record.is_closed
    if is_recovery and not state.is_first:
        turn.state = with_restart(turn.state)
    if is_recovery:
        incident.relaunched(turn)
    if is_recovery or best is not None:
        resume, step = attempt.resumed_from, attempt.resumed_step
        looked = bool(turn.settings.checkpoint)
        turn.say(launched(attempt.number, attempt.nodes, resume=resume, step=step, looked=looked))
    turn.do(launch_order(turn))


def launch_order(turn: Turn) -> LaunchAttempt:
    """The order to launch the present attempt; may be given again."""
    attempt, state = turn.attempt, turn.state
    is_recovery = state.incident is not None and not state.incident.record.is_closed
    return LaunchAttempt(
        attempt=attempt.number,
        nodes=attempt.nodes,
        hidden=tuple(node for node in state.held if node not in attempt.nodes),
        resume_from=attempt.resumed_from,
        resume_step=attempt.resumed_step,
        incident=state.incident.record.incident if is_recovery and state.incident else None,
        skip=state.behind.skip,
    )


def launch_again(turn: Turn) -> None:
    """The keeper has not answered: the same order once more, which it refuses if it has carried it out."""
    tries = turn.state.tries + 1
    if tries >= _LAUNCHES:
        finish(turn, words=f"stopped: the keeper does not start attempt {turn.attempt.number}")
        return
    turn.enter(Stage.LAUNCHING)
    turn.set(tries=tries)
    turn.do(launch_order(turn))


def _look_again(turn: Turn) -> None:
    """Tier 0 or the checkpoint finder gave no answer at all in this stage's time."""
    turn.set(deadline=None)
    check = turn.state.check
    if check is not None and check.answer is None:
        checked(turn, NodesChecked(at=turn.at, ask=check.ask, good=(), silent=check.nodes))
    if turn.state.is_choosing:
        nothing = Choice(chosen=None, is_trustworthy=False, why="no answer in time")
        chosen(turn, CheckpointChosen(at=turn.at, attempt=turn.state.next_attempt, choice=nothing))
