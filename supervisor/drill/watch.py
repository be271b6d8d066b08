"""What a run folder shows while faults come and go. Reads files alone."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from supervisor.checkpoint.names import step_of
from supervisor.errors import NoSuchRun, RunFolderUnusable
from supervisor.model.ids import IncidentNo
from supervisor.model.records import IncidentRecord
from supervisor.report.view import FINISHED, RUNNING, RunView, read_view

LOOK_S: Final = 0.25
NEW_STEPS: Final = 10
"""So many steps beyond the furthest one are progress."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One run."""

    folder: Path
    checkpoints: Path | None = None
    """Of the drill's own trainer: they tell its steps sooner than the status does."""

    def view(self) -> RunView | None:
        """None: nobody has written yet."""
        try:
            return read_view(self.folder)
        except (NoSuchRun, RunFolderUnusable):
            return None

    def step(self) -> int:
        """The newest step that is known; -1: none."""
        view = self.view()
        told = -1 if view is None or view.status is None or view.status.step is None else view.status.step
        if self.checkpoints is None:
            return told
        saved = (step_of(path.name) for path in self.checkpoints.glob("step-*.safetensors"))
        return max([told, *(step for step in saved if step is not None)])

    def is_over(self) -> bool:
        """The run has ended, and no other job goes on with it."""
        view = self.view()
        return view is not None and view.status is not None and view.status.stage == FINISHED and not view.expected_job

    def updated_at(self) -> float:
        """When the status was written, by the clock of its writer; 0: never."""
        view = self.view()
        return 0.0 if view is None or view.status is None else view.status.updated_at

    def is_steady(self, since: float) -> bool:
        """Ranks make steps, every node's agent is heard, no recovery is under way; by a status that is newer than that.

        An older one may be the last word of a supervisor that was killed.
        """
        view = self.view()
        if view is None or view.status is None or view.status.stage != RUNNING or view.status.updated_at <= since:
            return False
        is_whole = view.status.nodes_up >= len(view.status.nodes) and view.status.step is not None
        return is_whole and (not view.records or view.records[-1].is_closed)

    def newest(self) -> IncidentNo:
        """Number of the newest incident; 0: there was none."""
        view = self.view()
        return max((record.incident for record in view.records), default=IncidentNo(0)) if view else IncidentNo(0)

    def interruptions_after(self, number: IncidentNo) -> list[IncidentRecord]:
        """Oldest first."""
        view = self.view()
        return [] if view is None else [record for record in view.interruptions if record.incident > number]


async def until(look: Callable[[], _T | None], deadline_s: float) -> _T | None:
    """The first true answer of `look`; None: there was none in time."""
    ends = time.monotonic() + deadline_s
    while True:
        found = look()
        if found or time.monotonic() > ends:
            return found or None
        await asyncio.sleep(LOOK_S)
