"""Decisions of past runs, made again with other settings."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from supervisor.cli.known_runs import known_runs
from supervisor.core import policy_table
from supervisor.core.shadow import Decided, decisions
from supervisor.errors import PayloadRefused
from supervisor.ledger.event_log import read_events
from supervisor.report.view import LOG, RunView
from supervisor.report.words import clock, count, table
from supervisor.settings import Settings
from supervisor.settings_resolve import Resolved


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """One decision that would differ, and whose."""

    run: str
    job: str
    decided: Decided

    def as_json(self) -> dict[str, Any]:
        """For a script."""
        one = self.decided
        return {
            "run_id": self.run,
            "job_id": self.job,
            "incident": one.incident,
            "at": one.at,
            "class": str(one.cls),
            "cause": one.cause,
            "action": one.action,
            "text": one.text,
            "other_action": one.other_action,
            "other_text": one.other_text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All that were made again."""

    runs: int
    seen: int
    """Decisions."""
    differing: tuple[Differing, ...]
    unread: tuple[str, ...] = ()
    """Runs that could not be replayed, and why."""

    def conclusion(self, path: Path) -> str:
        """One sentence."""
        of = f"{count(self.seen, 'decision')} of {count(self.runs, 'run')}"
        if not self.seen:
            return f"There is nothing to compare with {path}: {of}."
        return f"With {path}, {len(self.differing) or 'none'} of {of} would differ."

    def lines(self) -> list[str]:
        """Each that differs: what was done, and what would have been."""
        now = time.time()
        cells = [
            (
                clock(one.decided.at, now=now),
                one.job,
                str(one.decided.incident),
                f"{one.decided.cls}/{one.decided.cause}",
                one.decided.text or one.decided.action,
                one.decided.other_text or one.decided.other_action,
            )
            for one in self.differing
        ]
        return ["", *table(("WHEN", "JOB", "INCIDENT", "CAUSE", "WAS", "WOULD BE"), cells)] if cells else []


def compared(other: Resolved, since: float) -> Compared:
    """Every run known here that was begun since then. Only what the other file sets is changed in a run's settings."""
    runs = seen = 0
    differing: list[Differing] = []
    unread: list[str] = []
    for view in known_runs():
        if view.run.created_at < since:
            continue
        try:
            found = list(_decisions(view, _changed(view.run.settings, other)))
        except (OSError, PayloadRefused) as exc:
            unread.append(f"{view.folder}: {exc}")
            continue
        runs, seen = runs + 1, seen + len(found)
        differing += [Differing(run=view.run.run_id, job=view.job_id, decided=one) for one in found if one.differs]
    return Compared(
        runs=runs,
        seen=seen,
        differing=tuple(sorted(differing, key=lambda one: one.decided.at)),
        unread=tuple(unread),
    )


def _decisions(view: RunView, other: Settings) -> Iterator[Decided]:
    return decisions(read_events(view.folder / LOG), view.run.settings, other)


def _changed(settings: Settings, other: Resolved) -> Settings:
    changes = {name: getattr(other.settings, name) for name in other.origin}
    if "policy" in changes:
        changes["policy"] = policy_table.merged(settings.policy, changes["policy"])
    return msgspec.structs.replace(settings, **changes)
