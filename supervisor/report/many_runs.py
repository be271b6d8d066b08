"""What `list` and `report` say of many runs. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class
from supervisor.report import incident
from supervisor.report.conclusion import conclude
from supervisor.report.standing import LIVING, NEEDS_PERSON, Conclusion, Standing
from supervisor.report.view import RunView
from supervisor.report.words import clock, count, duration, names, node_time, one_line, table

_LIST_HEAD = ("JOB", "RUN", "STATE", "ATTEMPT", "STEP", "INTERRUPTIONS", "SUBMITTED", "FOLDER")
_REPORT_HEAD = ("TIME", "RUN", "CAUSE", "WHERE", "DETECTED", "ISOLATED", "RECOVERED", "ACTION")


@dataclass(frozen=True, slots=True)
class Listed:
    """One run of a list."""

    view: RunView
    standing: Standing
    text: str
    needs_person: bool


def listed(views: Iterable[RunView], now: float) -> list[Listed]:
    """The living first, then what needs a person, then the rest; the newest first in each group."""
    found = [
        Listed(view, result.standing, result.text, _needs_person(result))
        for view in views
        for result in [conclude(view, now)]
    ]
    return sorted(found, key=lambda one: (_group(one.standing), -one.view.run.created_at))


def _needs_person(found: Conclusion) -> bool:
    """It has come to an end, or waits for what will not come by itself."""
    return found.standing in NEEDS_PERSON or (found.standing is Standing.WAITING and bool(found.blockers))


def _group(standing: Standing) -> int:
    return 0 if standing in LIVING else 1 if standing in NEEDS_PERSON else 2


def list_conclusion(runs: Sequence[Listed]) -> str:
    """`3 runs: 1 running, 1 stopped, 1 completed. 1 needs you: …`."""
    if not runs:
        return "No runs are known here."
    counts = Counter(run.standing for run in runs)
    standings = ", ".join(f"{number} {standing}" for standing, number in counts.most_common())
    waiting = [_called(run.view) for run in runs if run.needs_person]
    needs = f"{len(waiting)} need{'s' * (len(waiting) == 1)} you: {names(waiting)}" if waiting else "nothing to do"
    return f"{count(len(runs), 'run')}: {standings}. {needs[:1].upper()}{needs[1:]}."


def _called(view: RunView) -> str:
    return f"job {view.job_id}" if view.job_id else f"run {view.run.run_id}"


def list_text(runs: Sequence[Listed], *, now: float) -> list[str]:
    """The table, one line for each run."""
    return table(_LIST_HEAD, [_list_row(run, now) for run in runs]) if runs else []


def _list_row(run: Listed, now: float) -> tuple[str, ...]:
    view, status = run.view, run.view.status
    return (
        view.job_id or "-",
        view.run.run_id,
        run.standing,
        str(status.attempt) if status else "-",
        f"{status.step:,}" if status and status.step is not None else "-",
        str(len(view.interruptions)),
        clock(view.run.created_at, now=now),
        str(view.folder),
    )


def list_json(runs: Sequence[Listed]) -> list[dict[str, Any]]:
    """The same for a script."""
    return [
        {
            "job_id": run.view.job_id,
            "run_id": run.view.run.run_id,
            "standing": str(run.standing),
            "conclusion": run.text,
            "attempt": run.view.status.attempt if run.view.status else 0,
            "step": run.view.status.step if run.view.status else None,
            "interruptions": len(run.view.interruptions),
            "created_at": run.view.run.created_at,
            "folder": str(run.view.folder),
        }
        for run in runs
    ]


@dataclass(frozen=True, slots=True)
class Report:
    """The interruptions of many runs, oldest first, planned ends left out."""

    runs: int
    records: tuple[IncidentRecord, ...]
    planned: int
    since: float | None
    """From here on; None: everything that is known."""


def report_of(views: Iterable[RunView], *, since: float | None) -> Report:
    """What happened in these runs since then; a run that has not been active since is left out."""
    active = [view for view in views if since is None or _last_active(view) >= since]
    records = [record for view in active for record in view.records if since is None or record.opened_at >= since]
    real = sorted((one for one in records if one.verdict.cls is not Class.PLANNED), key=lambda one: one.opened_at)
    return Report(len(active), tuple(real), len(records) - len(real), since)


def _last_active(view: RunView) -> float:
    return max(view.run.created_at, view.status.updated_at if view.status else 0.0)


def report_conclusion(report: Report, now: float) -> tuple[str, list[str]]:
    """The first line, and what needs a person: runs that were stopped and causes that nobody knows."""
    since = f" since {clock(report.since, now=now)}" if report.since is not None else ""
    scope = f"{count(len(report.records), 'interruption')} in {count(report.runs, 'run')}{since}"
    blockers = [f"{one.run_id}: {_cause(one)}, {one.action_text or one.action}" for one in report.records if _open(one)]
    if not report.runs:
        return f"Nothing to report: no runs are known here{since}.", []
    if not report.records:
        return f"OK: {scope}.", []
    if blockers:
        runs = list(dict.fromkeys(one.run_id for one in report.records if _open(one)))
        needs = f"{count(len(runs), 'run')} need{'s' * (len(runs) == 1)} a person"
        return f"NOT OK: {scope}, {needs} (`supervise why` each): {names(runs)}.", blockers
    return f"OK: {scope}, all handled without a person.", []


def _open(record: IncidentRecord) -> bool:
    return record.action in {"stop", "observe"} or record.verdict.cls is Class.UNKNOWN


def report_text(report: Report, *, now: float) -> list[str]:
    """Counts for each class, the three measures, then a line for each interruption."""
    if not report.records:
        return []
    rows = [_report_row(record, now) for record in report.records]
    return [*_classes(report), *_measures(report), "", *table(_REPORT_HEAD, rows)]


def _classes(report: Report) -> Iterator[str]:
    for cls, number in Counter(record.verdict.cls for record in report.records).most_common():
        mine = [record for record in report.records if record.verdict.cls is cls]
        causes = Counter(record.verdict.cause for record in mine).most_common()
        lost = node_time(sum(record.lost_node_seconds for record in mine))
        yield f"{cls:<9} {number:>3}  {lost:>13}   {', '.join(f'{cause} {times}' for cause, times in causes)}"


def _measures(report: Report) -> Iterator[str]:
    measures = _numbers(report)
    texts = [
        f"{name} median {duration(found['median'])}, max {duration(found['max'])}"
        for name, found in (("detection", measures["detection_s"]), ("recovery", measures["recovery_s"]))
        if found is not None
    ]
    isolated = ", ".join(f"{unit} ({number}x)" for unit, number in measures["isolation"].items())
    yield "   ".join([*texts, f"isolated to {isolated}"])


def _numbers(report: Report) -> dict[str, Any]:
    return {
        "detection_s": _spread(report, lambda record: record.split.detect),
        "recovery_s": _spread(report, lambda record: record.recovery_s),
        "isolation": dict(Counter(record.isolation for record in report.records).most_common()),
    }


def _spread(report: Report, measure: Callable[[IncidentRecord], float | None]) -> dict[str, float] | None:
    known = [value for record in report.records if (value := measure(record)) is not None]
    return {"median": median(known), "max": max(known)} if known else None


def report_json(report: Report) -> dict[str, Any]:
    """The same for a script, with every incident whole."""
    return {
        "since": report.since,
        "runs": report.runs,
        "interruptions": len(report.records),
        "planned": report.planned,
        "classes": dict(Counter(str(record.verdict.cls) for record in report.records)),
        "causes": dict(Counter(record.verdict.cause for record in report.records)),
        **_numbers(report),
        "incidents": [incident.as_json(record) for record in report.records],
    }


def _report_row(record: IncidentRecord, now: float) -> tuple[str, ...]:
    return (
        clock(record.opened_at, now=now),
        record.run_id,
        _cause(record),
        one_line(incident.where(record.verdict), 40),
        "-" if record.split.detect is None else duration(record.split.detect),
        record.isolation,
        "-" if record.recovery_s is None else duration(record.recovery_s),
        record.action,
    )


def _cause(record: IncidentRecord) -> str:
    return f"{record.verdict.cls}/{record.verdict.cause}"
