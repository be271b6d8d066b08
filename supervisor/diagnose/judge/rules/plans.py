"""Planned ends: finished runs are finished; a job that somebody ended because it hung was not cancelled."""

import re
from typing import Final

from supervisor.diagnose.findings import Finding, failures
from supervisor.diagnose.judge.case import Case

_SURE: Final = 0.7
_NEXT: Final = frozenset(
    {"command_not_found", "file_not_found", "import_error", "type_error", "host_oom", "no_space_left", "quota_exceeded"}
    | {"permission_denied", "not_converged", "malformed_record", "compile_failure", "license_unavailable"}
)
"""Causes that stop the next step of a job, and not the end of the one before."""
_ASKED: Final = frozenset({"user_stop", "requeue_before_walltime", "walltime_warning_signal", "preemption", "walltime"})
_ASKED_SURE: Final = 0.6
_TIMES: Final = re.compile(r"RunTime=([\d:-]+) TimeLimit=([\d:-]+)")
_SILENT_S: Final = 3600.0
_WAITED: Final = frozenset({"nccl_timeout_unattributed", "collective_mismatch", "rank0_long_work_timeout"})


def finished(case: Case) -> None:
    """The program said that its work was done: what follows is its end, a collective that hangs then is harmless."""
    done = case.marked("finished")
    before = [one for one in case.faults() if one.cause not in _WAITED and done and _is_before(one, done[0])]
    after = [one for one in case.faults() if done and not _is_before(one, done[-1])]
    if (before and ended_badly(case)) or any(_is_next_step(one, case) for one in after):
        case.change(done, role="context", cause="")  # only a part of the job was done then
        return
    if not done:
        return
    case.change(before, role="context")  # it went on to its end all the same, and that was good
    is_stopped = any(one.cause == "user_stop" for one in case.roots())
    waited = [one for one in case.marked("timeout") if not _is_before(one, done[0])]
    later = [one for one in case.faults() if not _is_before(one, done[0])]
    case.change(later, role="echo")
    if waited:
        first = waited[0].order
        hang = {"role": "root", "scope": "job", "cause": "post_fit_collective_hang", "weight": 0.85}
        case.change(lambda one: one.order == first and one.has("timeout"), **hang)
    elif not is_stopped:
        case.change(done, role="root", cause="completed", weight=0.95)
        case.change(lambda one: one.role == "root" and one.cause == "walltime", role="context")


def left_in_good_order(case: Case) -> None:
    """A script that ended well because it was asked to stop or to make room has not completed its work."""
    asked = [one for one in case.roots() if one.cause in _ASKED and one.is_line and one.weight >= _ASKED_SURE]
    if asked and not case.marked("finished"):
        case.change(lambda one: one.role == "root" and one.cause == "completed" and not one.is_line, role="context")


def ended_well(case: Case) -> None:
    """A launcher saw its processes exit well, and nothing tells of a failure or a plan: the run has completed."""
    well = case.known("deepspeed_exit_well")
    if well and not case.roots() and not any(True for _ in failures(case.findings)):
        case.change(lambda one: one is well[-1], role="root", scope="job", cause="completed", weight=0.7)


def did_not_move(case: Case) -> None:
    """A watchdog or a person ended the job because it stood still: that is no cancel, but with no cause a deadlock."""
    ended = case.marked("no_progress")
    if not ended:
        return
    case.change(lambda one: one.role == "root" and one.cause in {"user_cancel", "user_stop"}, role="echo")
    if any(one.weight >= 0.5 for one in case.faults() if one.cause not in _WAITED):  # noqa: PLR2004 - more than a guess
        return
    odd = [one for one in case.findings if one.signature == "stack_not_in_collective"]
    case.change(odd, role="root", weight=0.74)
    case.change(lambda one: one is ended[0], role="root", scope="job", cause="deadlock", weight=0.6 if odd else 0.7)


def limit_by_numbers(case: Case) -> None:
    """It ran as long as it was allowed to, and nothing failed before: the time limit, whatever the state is called."""
    for told in case.known("slurm_run_time"):
        match = _TIMES.search(told.text)
        ran, limit = (_seconds(one) for one in match.groups()) if match else (0, 0)
        if limit and ran >= limit and not case.faults() and not case.of("walltime"):
            case.change(lambda one, told=told: one is told, role="root", cause="walltime", weight=0.85)  # type: ignore[misc]


def _seconds(told: str) -> int:
    """`1-02:03:04`, `02:03:04` or `03:04` in seconds."""
    days, _, clock = told.rpartition("-")
    seconds = 0
    for part in clock.split(":"):
        seconds = 60 * seconds + (int(part) if part.isdecimal() else 0)
    return seconds + 86400 * (int(days) if days.isdecimal() else 0)


def silent_until_the_limit(case: Case) -> None:
    """A job that had written nothing for an hour when its time limit came had hung."""
    limits = [one for one in case.of("walltime") if one.is_line and one.time is not None]
    if not limits or case.faults():
        return
    limit = limits[0].time or 0.0
    last = [one.last.near(limit) for one in case.scanned if one.log.kind == "ranks" and one.last]
    if not last:
        return
    if limit - max(last) >= _SILENT_S and case.made_progress:
        case.change(lambda one: one is limits[0], cause="deadlock", weight=0.72)
        case.change(lambda one: one.role == "root" and one.cause == "walltime", role="context")


def _is_next_step(one: Finding, case: Case) -> bool:
    """It is no trouble of a program that ends, but of what the job did next: steps of it were reported, or it tells."""
    if one.weight < _SURE:
        return False
    has_gone_on = all(each.went_on for each in case.marked("finished"))
    return one.cause in _NEXT or (ended_badly(case) and (has_gone_on or one.cause == "python_exception"))


def ended_badly(case: Case) -> bool:
    """Somebody reports an exit code, a signal or a state that is no success."""
    facts = case.bundle.facts
    is_bad = bool(facts.exit_code or facts.exit_signal) or facts.job_state.startswith(("FAILED", "NODE_FAIL", "OUT_OF"))
    return is_bad or bool(case.known("nextflow_aborted")) or any(True for _ in failures(case.findings))


def _is_before(one: Finding, other: Finding) -> bool:
    if one.began is not None and other.time is not None:
        return one.began < other.time
    return one.order[0] == other.order[0] and one.order < other.order
