"""What a drill would do, for its owner to agree to; and when a user's run must not be drilled. Pure."""

from collections.abc import Sequence
from typing import Final

from supervisor.drill.kinds import KINDS, NOT_DRILLED
from supervisor.drill.suite import Suite
from supervisor.model.status import RunStatus
from supervisor.report.view import FINISHED, RunView
from supervisor.report.words import count, duration

_KEPT_RESTARTS: Final = 2
"""The run's own: a real fault may come right after the drill."""


def plan(suite: Suite, view: RunView | None) -> list[str]:
    """In words, the conclusion first."""
    faults = count(len(suite.faults), "fault")
    where = "a small job of its own" if view is None else f"your run {view.run.run_id} (job {view.job_id})"
    text = [f"Would make {faults} in {where}; nothing was done yet."]
    for number, fault in enumerate(suite.faults, start=1):
        limits = suite.limits_of(fault)
        noticed = f"noticed in {duration(limits.seen_s)}, " if KINDS[fault].interrupts else ""
        text.append(f"  {number:2} {fault:18} {KINDS[fault].what}; to be {noticed}over in {duration(limits.back_s)}")
    if suite.pace is not None:
        text.append(f"     then {suite.pace.rounds} rounds of steps with us and without, in one allocation")
    if view is not None:
        breaks = sum(KINDS[fault].interrupts for fault in suite.faults)
        text.append(f"It costs {count(breaks, 'restart')} from the newest checkpoint, of the run's own budget.")
        text.append("Its records, and the site's ledger where there is one, will show an interruption like any other.")
    return [*text, f"Not drilled: {NOT_DRILLED}."]


def why_not(view: RunView, faults: Sequence[str]) -> str:
    """Why this run must not be drilled; empty: it may be."""
    name, breaks = view.run.run_id, sum(KINDS[fault].interrupts for fault in faults)
    if view.is_array:
        return f"{name} is an array: name one of its tasks, such as {view.job_id or 'JOB'}_0"
    if not faults:
        return "none of these faults may be made in a run of yours; a job of the drill's own has them: leave --run away"
    if view.status is None or view.status.stage == FINISHED:
        return f"{name} does not run: supervise status {view.job_id or name}"
    if not view.job_id:
        return f"{name} runs without Slurm, whose steps make the faults"
    return _why_not_break(view, view.status, breaks) if breaks else ""


def _why_not_break(view: RunView, status: RunStatus, breaks: int) -> str:
    """An interruption would cost more than a restart from the newest checkpoint."""
    name = view.run.run_id
    if status.mode != "act":
        return f"{name} is in mode {status.mode}: nobody would start it again; supervise mode act {view.job_id}"
    if not view.run.settings.checkpoint:
        return f"{name} names no checkpoints (--checkpoint): a fault could cost all of it; only --fault agent_killed"
    left = view.run.settings.max_restarts - status.restarts
    if left < breaks + _KEPT_RESTARTS:
        return f"{name} has {count(left, 'restart')} left, and the drill would take {breaks}: name fewer with --fault"
    return ""
