"""What `list` says of many runs. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from supervisor.report.conclusion import conclude
from supervisor.report.standing import LIVING, NEEDS_PERSON, Conclusion, Standing
from supervisor.report.view import RunView
from supervisor.report.words import clock, count, names, table

_LIST_HEAD = ("JOB", "RUN", "STATE", "ATTEMPT", "STEP", "INTERRUPTIONS", "SUBMITTED", "FOLDER")


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
