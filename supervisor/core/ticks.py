"""What the passing of time, the ranks' signs of life and Slurm's word mean in each stage."""

import msgspec

from supervisor.core import handover, incident, launch, leaving, limit, planned, recover, shrinking, watch
from supervisor.core.cause import RUNNING_STATES, is_preempted
from supervisor.core.events import Hung, LineSeen, Progressed, RankFailed, RanksSeen, Saved, SlurmReported, Stalled
from supervisor.core.state import Stage
from supervisor.core.turn import Turn
from supervisor.core.wording import silence

_KILLED = 128
"""srun passes a task's signal on as 128 and its number."""
_JOB_LINE = "*** JOB "
"""slurmstepd says the same of a step with a time limit of its own: that does not end the job."""


def tick(turn: Turn) -> None:
    """Time has passed: probes, pauses and deadlines that are due."""
    watch.look(turn)
    state = turn.state
    is_looking = state.stage in {Stage.PREPARING, Stage.CHECKING, Stage.SHRINKING}
    if is_looking and state.choose_at is not None and turn.at >= state.choose_at:
        launch.look_later(turn)
    elif planned.is_submission_due(turn):
        planned.order_submission(turn)
    elif state.deadline is not None and turn.at >= state.deadline:
        _late(turn)
    elif state.stage is Stage.RUNNING:
        _no_ranks(turn)
        shrinking.again(turn)


def seen(turn: Turn, event: RanksSeen | Progressed | Saved | Stalled | Hung | RankFailed | LineSeen) -> None:
    """Something of the present attempt was seen."""
    match event:
        case RanksSeen():
            _ranks_seen(turn)
        case Progressed():
            _progressed(turn, event.step)
        case Saved():
            limit.saved(turn, event)
        case RankFailed():
            _rank_failed(turn, event)
        case Stalled():
            _stalled(turn, event.silent_s)
        case Hung():
            _hung(turn, event.silent_s)
        case LineSeen() if _JOB_LINE in event.text:
            lines = (*turn.attempt.ending_lines, event.signature)
            turn.change_attempt(ending_lines=tuple(dict.fromkeys(lines)))
        case LineSeen():
            pass


def slurm_said(turn: Turn, event: SlurmReported) -> None:
    """Slurm's answer for the incident at hand, or for the end of the job."""
    planned.slurm_said(turn, event)
    if turn.state.stage is not Stage.COLLECTING:
        return
    turn.change_incident(is_slurm_asked=True)
    job = event.job
    if job is not None and (job.state not in RUNNING_STATES or is_preempted(job)):
        # The job is being ended, and the signal that says so has not been seen yet: planned beats noise. At the
        # beginning of a preemption's grace only the ranks are told.
        planned.begin(turn, whole_step=True)
        planned.slurm_said(turn, event)
        return
    recover.act_if_known(turn)


def judge_losses(turn: Turn) -> None:
    """Nodes that are believed lost from now on: an interruption if the attempt runs on them, else a note."""
    if turn.state.stage is Stage.FINISHED:
        return
    new = watch.newly_lost(turn)
    broken = watch.lost_of_attempt(turn)
    attempt = turn.state.attempt
    if turn.state.stage is Stage.RUNNING and attempt is not None and broken and not attempt.is_observed:
        since = min(turn.state.trouble[node].since for node in broken)
        # The lone ranks of an attempt over several nodes cannot progress; an attempt on one node may.
        if len(attempt.nodes) > 1 or turn.at - since >= turn.settings.lease_s:
            recover.interrupted(turn, evidence_at=since, lost=broken)
            return
    for node in new:
        known = turn.state.trouble[node]
        told = silence(node, silent_s=turn.at - known.since, probe=known.text)
        turn.say(f"{told}: no attempt will use it")
    if turn.state.unfit and turn.state.stage is Stage.RUNNING:
        launch.take_out(turn)


def _late(turn: Turn) -> None:
    match turn.state.stage:
        case Stage.LAUNCHING:
            recover.launch_again(turn)
        case Stage.PREPARING | Stage.CHECKING | Stage.SHRINKING:
            launch.late(turn)
        case Stage.COLLECTING | Stage.STOPPING:
            recover.late(turn)
        case Stage.SUBMITTING | Stage.REQUEUEING:
            handover.late(turn)
            launch.go_on_anyway(turn)
        case Stage.LEAVING:
            leaving.late(turn)
        case Stage.ENDING:
            planned.late(turn)
        case _:
            pass


def _no_ranks(turn: Turn) -> None:
    attempt, allowed = turn.state.attempt, turn.settings.ranks_deadline_s
    if not allowed or attempt is None or attempt.ranks_at is not None or attempt.is_observed:
        return
    if turn.at - attempt.launched_at >= allowed:
        recover.interrupted(turn, evidence_at=attempt.launched_at)


def _ranks_seen(turn: Turn) -> None:
    if turn.attempt.ranks_at is None:
        turn.change_attempt(ranks_at=turn.at)
    if _is_recovery(turn):
        incident.ranks_run(turn)


def _progressed(turn: Turn, step: int) -> None:
    # Whoever moves after a rank's failure has not been broken by it, nor by a standstill that was only recorded.
    if turn.attempt.hung_at is not None:
        turn.change_attempt(hung_at=None, is_observed=False)
    turn.change_attempt(step=step, ranks_at=turn.attempt.ranks_at or turn.at, failed_at=None)
    furthest = turn.state.behind.furthest_step
    if furthest is None or step > furthest:
        # On new ground a checkpoint that could not be loaded has been written anew, or is not the newest any more.
        turn.change_behind(furthest_step=step, restarts_without_progress=0, distrusted=())
    if _is_recovery(turn):
        incident.stepped(turn, step)
    else:
        incident.was_further(turn, step)


def _rank_failed(turn: Turn, event: RankFailed) -> None:
    attempt = turn.attempt
    if attempt.failed_at is None:
        code = event.code if event.signal is None else _KILLED + event.signal
        turn.set(attempt=msgspec.structs.replace(attempt, failed_at=turn.at, failed_code=attempt.failed_code or code))
    if turn.settings.on_rank_exit == "any":
        _broken(turn)


def _stalled(turn: Turn, silent_s: float) -> None:
    if turn.settings.on_rank_exit == "never":
        return
    if turn.attempt.failed_at is None:
        turn.change_attempt(failed_at=turn.at - silent_s)
    _broken(turn)


def _hung(turn: Turn, silent_s: float) -> None:
    attempt, state = turn.attempt, turn.state
    if attempt.failed_at is not None and turn.settings.on_rank_exit == "never":
        return
    is_asked_to_stop = state.halt is not None or (state.saving is not None and state.saving.asked_at is not None)
    if state.stage is not Stage.RUNNING or attempt.is_observed or is_asked_to_stop:
        return
    turn.change_attempt(hung_at=turn.at - silent_s)
    recover.interrupted(turn, evidence_at=turn.at - silent_s, lost=watch.lost_of_attempt(turn))


def _broken(turn: Turn) -> None:
    if turn.state.stage is Stage.RUNNING and not turn.attempt.is_observed:
        evidence_at = turn.attempt.failed_at or turn.at
        recover.interrupted(turn, evidence_at=evidence_at, lost=watch.lost_of_attempt(turn))


def _is_recovery(turn: Turn) -> bool:
    """What is seen of the ranks belongs to a recovery."""
    return turn.state.stage is Stage.RUNNING and incident.is_relaunched(turn)
