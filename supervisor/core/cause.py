"""Why a job is being ended: by Slurm's own words, by its nodes, by the lines of slurmstepd, by the clock."""

from typing import Final

from supervisor.core.events import SlurmReported
from supervisor.core.state import State
from supervisor.model.facts import JobFacts

POSITIVE: Final = frozenset({"walltime", "preemption"})
"""Causes after which the run goes on in another job, if Slurm does not see to that itself."""
SIGTERM: Final = 15
RUNNING_STATES: Final = frozenset(
    {"RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "CONFIGURING", "RESIZING", "UNKNOWN", ""}
)
WORDS: Final = {
    "walltime": "the time limit has ended the job",
    "preemption": "a job with more right has taken the nodes",
    "requeue": "Slurm starts this job again",
    "node_failure": "Slurm ends the job because a node failed",
    "user_cancel": "the job was cancelled",
    "user_stop": "the job was told to end (SIGTERM)",
    "unattributed": "the job was told to end, and Slurm does not say why",
}
_AGAIN: Final = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})
_LINES: Final = {
    "slurm_time_limit": "walltime",
    "slurm_preempted": "preemption",
    "slurm_requeued": "requeue",
    "slurm_node_failure": "node_failure",
}
_LIMIT_SLACK_S: Final = 1.0


def find_cause(state: State, said: SlurmReported | None) -> str:
    """One of `WORDS`, for a state that knows its SIGTERM. `said`: Slurm's answer to that; None: it gave none."""
    if state.rung == "requeue":
        return "requeue"  # our own order: this signal is how Slurm carries it out
    job = said.job if said else None
    by_slurm = _by_facts(state, job) or _by_nodes(state, said)
    return by_slurm or _by_lines(state) or _by_clock(state, job) or _by_person(state, job)


def is_preempted(job: JobFacts) -> bool:
    """Another job takes the nodes, now or when the grace is over. A preemption before the last start is history."""
    is_now = job.preempt_time is not None and job.preempt_time >= (job.start_time or 0.0)
    return is_now or job.state == "PREEMPTED"


def is_before_end_of_grace(state: State, at: float) -> bool:
    """Slurm itself ends a preempted job when its grace is over: who does before is somebody else."""
    return state.grace_until is not None and at < state.grace_until - _LIMIT_SLACK_S


def is_requeued_by_slurm(state: State) -> bool:
    """Whether a preempted job starts again by itself. Where nobody knows, it does: a twin is worse than an end."""
    mode, job = state.preempt_mode, state.slurm.job
    if mode and "REQUEUE" not in mode:
        return False
    return job is None or job.requeue


def is_successor_unwanted(state: State) -> bool:
    """Whether a successor that was submitted before this SIGTERM must go: without a positive cause it must.

    A dead node is reason enough for one, unless Slurm starts the job again itself, or nobody knows.
    """
    if state.halt is not None:
        return True
    cause = state.term.cause if state.term else ""
    if cause == "node_failure" and state.slurm.job is not None:
        return state.slurm.job.requeue
    return cause not in POSITIVE


def _by_facts(state: State, job: JobFacts | None) -> str:
    if job is None:
        return ""
    if job.state in _AGAIN:
        return "requeue"
    if is_preempted(job) and not _is_ended_in_grace(state, job):
        return "preemption"
    if job.reason == "TimeLimit" or job.state in {"TIMEOUT", "DEADLINE"}:
        return "walltime"
    return "node_failure" if job.state == "NODE_FAIL" else ""


def _is_ended_in_grace(state: State, job: JobFacts) -> bool:
    """The job was preempted, and then somebody could not wait for the end of its grace."""
    term = state.term
    is_ending = job.state not in {*RUNNING_STATES, "PREEMPTED"}
    return is_ending and term is not None and term.whole_step and is_before_end_of_grace(state, term.at)


def _by_nodes(state: State, said: SlurmReported | None) -> str:
    """Slurm ends a job when it marks one of its nodes DOWN; on 22.05 the job itself says only COMPLETING."""
    down = {node.node for node in said.nodes if "DOWN" in node.states} if said else set()
    return "node_failure" if down & set(state.held) else ""


def _by_lines(state: State) -> str:
    lines = state.attempt.ending_lines if state.attempt else ()
    return next((_LINES[line] for line in lines if line in _LINES), "")


def _by_clock(state: State, job: JobFacts | None) -> str:
    limit, term = _limit(state, job), state.term
    return "walltime" if limit is not None and term is not None and term.at >= limit - _LIMIT_SLACK_S else ""


def _limit(state: State, job: JobFacts | None) -> float | None:
    """When the time limit would end the job. It may have been raised since Slurm was asked last.

    Where the job was suspended meanwhile, its start and its limit alone would say too early.
    """
    known = state.walltime_at
    if known is None or job is None or job.start_time is None or job.time_limit_s is None:
        return known
    return max(known, job.start_time + job.time_limit_s)


def _by_person(state: State, job: JobFacts | None) -> str:
    if job is None:
        return "unattributed"
    is_whole = state.term is not None and state.term.whole_step
    return "user_stop" if job.state in RUNNING_STATES and not is_whole else "user_cancel"
