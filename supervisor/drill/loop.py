"""One fault after the other: wait until the run is steady, make the fault, follow what comes of it, keep it."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import msgspec

from supervisor.drill.inject import NotMade, Steps, order
from supervisor.drill.kinds import Kind, known_kind
from supervisor.drill.record import DrillRecord, Injection, Seen
from supervisor.drill.suite import Limits, Suite
from supervisor.drill.watch import NEW_STEPS, Watched, until
from supervisor.errors import DrillStopped
from supervisor.ledger.records import incident_folder
from supervisor.ledger.whole_file import replace_file
from supervisor.model.base import encode_readable
from supervisor.model.ids import IncidentNo, JobId, NodeName, RunId
from supervisor.model.records import IncidentRecord

LATE_S: Final = 20.0
"""So long beyond its limit a thing is waited for: late is another answer than never."""
_STEADY_S: Final = 120.0
_MOVING_S: Final = 30.0
_ENDED_S: Final = 30.0


class Target(Protocol):
    """The job that is drilled: the drill's own, or a user's."""

    @property
    def train(self) -> Path | None:
        """Folder of the drill's own trainer; None: the program is the user's."""

    async def run(self) -> Watched:
        """The run as it is now, begun anew where it was over. Raises `DrillStopped`."""

    async def batch_host(self, job: JobId) -> NodeName:
        """Where the script and its supervisor run. Raises `DrillStopped`."""


@dataclass(slots=True, kw_only=True)
class Drill:
    """One drill."""

    target: Target
    suite: Suite
    steps: Steps
    folder: Path
    record: DrillRecord
    say: Callable[[str], None]
    seen: list[Seen] = field(default_factory=list)

    async def carry_out(self) -> DrillRecord:
        """All faults. What broke the drill off stands in the record."""
        try:
            for number, fault in enumerate(self.suite.faults, start=1):
                self.say(f"{number} of {len(self.suite.faults)}: {known_kind(fault).what}")
                self._keep(await self._one(number, known_kind(fault), self.suite.limits_of(fault)))
        except DrillStopped as exc:
            self.record = msgspec.structs.replace(self.record, problem=str(exc))
            self._write()
        return self.record

    async def _one(self, number: int, kind: Kind, limits: Limits) -> Seen:
        run = await self.target.run()
        since = run.updated_at() if self.seen else 0.0
        if not await until(lambda: run.is_steady(since), _STEADY_S):
            raise DrillStopped(f"the run was not steady within {_STEADY_S:.0f} s; see supervise why {run.folder}")
        view = run.view()
        job, run_id = (view.job_id, view.run.run_id) if view is not None else (JobId(""), RunId(""))
        seen = Seen(fault=kind.name, run_id=run_id, job_id=job)
        before, step = run.newest(), run.step()
        try:
            injection = await self._made(number, kind, run, job, limits)
        except NotMade as exc:
            return msgspec.structs.replace(seen, problem=str(exc))
        seen = msgspec.structs.replace(seen, injection=injection)
        if kind.interrupts:
            return await self._interruption(seen, run, before, step, kind, limits)
        return await _undisturbed(seen, run, before, step)

    async def _made(self, number: int, kind: Kind, run: Watched, job: JobId, limits: Limits) -> Injection:
        if not kind.signal:
            if self.target.train is None:
                raise NotMade("only the drill's own trainer can have it")
            # What the target has done for an earlier run must not be taken for this.
            return await order(kind, int(time.time() * 1000) + number, self.target.train)
        node = _node_for(kind, run, await self.target.batch_host(job))
        return await self.steps.hit(kind, job, node, 0.0 if kind.interrupts else limits.back_s + LATE_S)

    async def _interruption(
        self, seen: Seen, run: Watched, before: IncidentNo, step: int, kind: Kind, limits: Limits
    ) -> Seen:
        """Until the run is where it was, or over."""
        found = await until(lambda: run.interruptions_after(before), limits.seen_s + LATE_S)
        if kind.is_undone and seen.injection is not None:
            await self.steps.undo(seen.injection, seen.job_id)
        if not found:
            return msgspec.structs.replace(seen, is_moving=await _is_moving(run, step))
        first = found[0].incident
        await until(lambda: run.is_over() or _now(run, found[0]).is_closed, limits.back_s + LATE_S)
        record = _now(run, found[0])
        furthest = max(step, record.step_before or 0)
        has_ended = bool(await until(run.is_over, _ENDED_S)) if kind.stops else run.is_over()
        is_moving = False if has_ended else await _is_moving(run, furthest)
        more = tuple(each.incident for each in run.interruptions_after(first))
        self._keep_evidence(run, kind, first)
        return msgspec.structs.replace(
            seen, record=_now(run, found[0]), more=more, is_moving=is_moving, has_ended=has_ended
        )

    def _keep_evidence(self, run: Watched, kind: Kind, number: IncidentNo) -> None:
        """A run keeps the evidence of its last few incidents only; a drill has many, and wrong ones are looked into."""
        with suppress(OSError, shutil.Error):
            shutil.copytree(incident_folder(run.folder, number), self._evidence_of(kind))

    def _evidence_of(self, kind: Kind) -> Path:
        return self.folder / "evidence" / f"{len(self.seen) + 1:02}-{kind.name}"

    def _keep(self, seen: Seen) -> None:
        self.seen.append(seen)
        jobs = tuple(dict.fromkeys([*self.record.jobs, seen.job_id]))
        self.record = msgspec.structs.replace(self.record, seen=tuple(self.seen), jobs=jobs, run_id=seen.run_id)
        self._write()

    def _write(self) -> None:
        write_record(self.folder, self.record)


async def _undisturbed(seen: Seen, run: Watched, before: IncidentNo, step: int) -> Seen:
    """New steps are waited for, and what has interrupted the run all the same is told."""
    is_moving = await _is_moving(run, max(step, run.step()))
    found = run.interruptions_after(before)
    return msgspec.structs.replace(seen, is_moving=is_moving, record=found[0] if found else None)


def write_record(folder: Path, record: DrillRecord) -> None:
    """`record.json`, whole."""
    replace_file(folder / "record.json", encode_readable(record))


def _node_for(kind: Kind, run: Watched, batch_host: NodeName) -> NodeName:
    """Supervisor and broker live on the batch host; everything else is done elsewhere, where there is another node."""
    view = run.view()
    nodes = view.status.attempt_nodes if view is not None and view.status is not None else ()
    if kind.target in {"supervisor", "broker"}:
        return batch_host
    others = [node for node in nodes if node != batch_host]
    if kind.target == "node" and not others:
        raise NotMade("the job has no second node")
    return others[-1] if others else batch_host


def _now(run: Watched, known: IncidentRecord) -> IncidentRecord:
    """The same incident as it stands now."""
    later = (one for one in run.interruptions_after(IncidentNo(known.incident - 1)) if one.incident == known.incident)
    return next(later, known)


async def _is_moving(run: Watched, step: int) -> bool:
    return bool(await until(lambda: run.step() >= step + NEW_STEPS, _MOVING_S))
