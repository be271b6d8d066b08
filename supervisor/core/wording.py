"""Every sentence that the machine says. One line for each decision: the evidence, the verdict, what is done."""

from collections.abc import Sequence

from supervisor.model.ids import JobId, NodeName
from supervisor.model.verdict import Verdict

_SHOWN = 4


def names(nodes: Sequence[NodeName]) -> str:
    """`node003`, `node003 and node004`, `node001, node002, node003 and 61 more`."""
    if len(nodes) <= 1:
        return "".join(nodes)
    if len(nodes) <= _SHOWN:
        return f"{', '.join(nodes[:-1])} and {nodes[-1]}"
    return f"{', '.join(nodes[: _SHOWN - 1])} and {len(nodes) - _SHOWN + 1} more"


def verdict_name(verdict: Verdict) -> str:
    """`hardware/node_unreachable`."""
    return f"{verdict.cls}/{verdict.cause}"


def silence(node: NodeName, *, silent_s: float, probe: str) -> str:
    """`node003 does not answer (silent 2.6 s, slurmd refuses)`."""
    return f"{node} does not answer (silent {max(0.0, silent_s):.1f} s{', ' + probe if probe else ''})"


def standstill(silent_s: float) -> str:
    """`no rank has moved for 9 s, though all live`."""
    return f"no rank has moved for {silent_s:.0f} s, though all live"


def planned_action(
    action: str, *, nodes: Sequence[NodeName] = (), drop: Sequence[NodeName] = (), wait_s: float = 0.0
) -> str:
    """What will be done, as one sentence without the final stop."""
    later = f" in {wait_s:.0f} s" if wait_s else ""
    leaves = f"{names(drop)} {'leaves' if len(drop) == 1 else 'leave'} the job" if drop else ""
    match action:
        case "relaunch":
            done = f"starting again{later} on the same nodes"
        case "relaunch_on_spare":
            done = f"starting again{later} on {names(nodes)}"
        case "relaunch_smaller":
            done = f"starting again{later} on {len(nodes)} node{'s' * (len(nodes) != 1)}, with no spare left"
        case "requeue":
            return f"asking Slurm to start this job again{' without ' + names(drop) if drop else ''}"
        case _:
            return f"submitting again{' without ' + names(drop) if drop else ''}"
    return f"{leaves}; {done}" if leaves else done


def waits(job: JobId, *, moved: Sequence[str], left: Sequence[str]) -> str:
    """Who waits for the successor from now on, and who still waits for the job that it takes over from."""
    told = [f"{_jobs(moved)} for it now"] if moved else []
    told += [f"{_jobs(left)} for job {job}, which it cannot stand for"] if left else []
    return "; ".join(told)


def _jobs(jobs: Sequence[str]) -> str:
    return f"job {jobs[0]} waits" if len(jobs) == 1 else f"jobs {', '.join(jobs)} wait"


def decision(verdict: Verdict, text: str, *, attempt: int, stops: bool) -> str:
    """The line of one decision: what it was, and what happens now."""
    text = text.removeprefix("stopped: ") if stops else text
    doing = f"Stopping attempt {attempt}; {text}." if stops else f"{text[:1].upper()}{text[1:]}."
    summary = verdict.summary.rstrip(".")
    return f"{summary + ': ' if summary else ''}{verdict_name(verdict)}. {doing}"


def launched(attempt: int, nodes: Sequence[NodeName], *, resume: str | None, step: int | None, looked: bool) -> str:
    """How an attempt starts, where it is not the first one of a run without checkpoint. `looked`: for a checkpoint."""
    where = f"attempt {attempt} starts on {names(nodes)}"
    if not looked:
        return f"{where}; where it goes on is up to the script (no --checkpoint)"
    if resume is None:
        return f"{where}, from the beginning"
    return f"{where}, from step {step} ({resume})"


def count(number: int, thing: str) -> str:
    """`no interruptions`, `1 interruption`, `2 interruptions`."""
    return f"{number or 'no'} {thing}{'s' * (number != 1)}"


def completed(interruptions: int) -> str:
    """The last Comment of a run that ended well."""
    return f"completed, {count(interruptions, 'interruption')}"


def ended_by(code: int | None, signal: int | None) -> str:
    """`exit code 3`, `signal 9`, or that nobody saw it."""
    if code is not None:
        return f"exit code {code}"
    return "an exit that nobody saw" if signal is None else f"signal {signal}"
