"""What `why` and `status` say of one run. Pure."""

from collections.abc import Iterator
from typing import Any, Final

from supervisor.model.records import IncidentRecord
from supervisor.model.status import RunStatus
from supervisor.report import incident
from supervisor.report.correction import corrected_json
from supervisor.report.standing import Conclusion, Standing
from supervisor.report.view import FINISHED, RUNNING, RunView, full
from supervisor.report.words import count, duration, names, node_time

_SHOWN_FROM_NODE_S: Final = 1.0


def why_text(view: RunView, found: Conclusion, *, now: float, advice: str = "") -> list[str]:
    """The conclusion, what is in the way, each incident, how to read on. `advice`: what to do about the last cause."""
    lines = [found.text, *_blocked(found, advice)]
    lost = sum(record.lost_node_seconds for record in view.interruptions)
    if lost >= _SHOWN_FROM_NODE_S:
        lines.append(f"Lost to interruptions: {node_time(lost)}.")
    for record in view.records:
        lines += ["", *incident.as_text(record, now=now, feedback=view.feedback.get(record.incident))]
    return [*lines, *([""] if view.records else []), *_footer(view)]


def why_json(view: RunView, now: float) -> dict[str, Any]:
    """What an answer of `why` holds beside its head: interruptions and planned ends apart."""
    status = view.status
    return {
        "interruptions": len(view.interruptions),
        "incidents": [_incident_json(view, record) for record in view.interruptions],
        "planned": [_incident_json(view, record) for record in view.planned],
        "exit_code": status.exit_code if status else None,
        "exit_signal": status.exit_signal if status else None,
        "successor": status.successor if status else None,
        **status_json(view, now),
    }


def _incident_json(view: RunView, record: IncidentRecord) -> dict[str, Any]:
    return {**incident.as_json(record), "corrected": corrected_json(view.feedback.get(record.incident))}


def status_json(view: RunView, now: float) -> dict[str, Any]:
    """The last status that the supervisor wrote, whole, and how long it has been silent if that is too long."""
    return {
        "status": full(view.status) if view.status else None,
        "silent_s": view.silent_s(now),
        "jobs": list(view.jobs),
        "folder": str(view.folder),
    }


def status_text(view: RunView, found: Conclusion, *, now: float) -> list[str]:
    """The conclusion and one line for each thing that one watches."""
    is_stopped = found.standing in {Standing.STOPPED, Standing.FAILED}
    advice = f"read what happened: supervise why {view.job_id or view.run.run_id}" if is_stopped else ""
    lines = [found.text, *_blocked(found, advice)]
    if view.status is not None:
        lines += [f"  {title:<9} {text}" for title, text in _rows(view, view.status, now)]
    return [*lines, f"  {'folder':<9} {view.folder}"]


def _blocked(found: Conclusion, advice: str) -> list[str]:
    """What is to be done. Why a run stands still is said by its conclusion and its incident already."""
    is_said = found.standing in {Standing.STOPPED, Standing.FAILED}
    return [f"  to do: {text}" for text in (*found.blockers[is_said:], *filter(None, [advice]))]


def _footer(view: RunView) -> Iterator[str]:
    status = view.status
    if status is not None and status.stage == FINISHED and (status.exit_code, status.exit_signal) != (None, None):
        what = f"exit code {status.exit_code}" if status.exit_code is not None else f"signal {status.exit_signal}"
        yield f"The job ended with {what}."
    if len(view.jobs) > 1:
        yield f"Jobs of this run: {names(view.jobs)}."
    if view.evidence:
        yield f"Evidence of the last interruption, such as job.log: {view.evidence}"
    where = f"all events: {view.log}" if status is not None else f"its folder: {view.folder}"
    yield f"Run {view.run.run_id}; {where}"


def _rows(view: RunView, status: RunStatus, now: float) -> Iterator[tuple[str, str]]:
    is_living = status.stage != FINISHED
    yield "job", _job(view, status, now if is_living else None)
    yield "nodes", _nodes(status, is_living=is_living)
    if status.halt and is_living:
        yield "halt", f"ordered {status.halt.removeprefix('halted ')}"
    for node, why in status.bad.items():
        yield "bad", f"{node}: {why}"
    if status.step is not None:
        pace = f", {status.step_s:.2f} s a step" if status.step_s is not None else ""
        still = ", none newer for a minute" if view.is_without_new_step else ""
        yield "step", f"{status.step:,}{pace}{still}"
    elif status.stage == RUNNING:
        yield "step", "none reported yet; a hang shows early only where the script calls beat(), see README.md"
    yield "restarts", f"{status.restarts} of at most {view.run.settings.max_restarts}"
    yield "slurm", f"{count(status.slurm_calls, 'call')} by the supervisor"
    if status.refused_messages:
        yield "refused", f"{count(status.refused_messages, 'message')} that could not be read"


def _job(view: RunView, status: RunStatus, now: float | None) -> str:
    parts = [view.job_id or "none, this machine alone", f"mode {status.mode}"]
    if status.transport:
        parts.append(f"beats over {status.transport}")
    if now is not None and status.ends_at is not None:
        left = status.ends_at - now
        parts.append(f"time limit in {duration(left)}" if left > 0 else "the time limit is over")
    return ", ".join(parts)


def _nodes(status: RunStatus, *, is_living: bool) -> str:
    used = status.attempt_nodes or status.nodes
    unused = [node for node in status.nodes if node not in used]
    heard = f" ({status.nodes_up} of {len(status.nodes)} heard)" if is_living else ""
    return names(used) + heard + (f"; unused: {names(unused)}" if unused else "")
