"""The health check that slurmd runs every few minutes: a finding counts when it is seen again."""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from supervisor.hooks import debounce, judge_gpus, leftovers, verdict
from supervisor.hooks import growth as compare
from supervisor.hooks.debounce import Seen
from supervisor.hooks.job import Job
from supervisor.hooks.reading import Look, Marks, Reading
from supervisor.hooks.settings import HookSettings
from supervisor.hooks.spool import Spool
from supervisor.model.base import Fact
from supervisor.model.node import NodeFinding, NodeRecord
from supervisor.telemetry.gpu.state import NodeGpus

KNOWN: Final = "health-known.json"
"""The last reading in which nothing was missing: what should be there."""
_STATE: Final = "health-state.json"
_REPEAT_S: Final = 86400.0
"""An unchanged node is told again once a day."""
_ASK_AGAIN_S: Final = 600.0
"""After Slurm was asked to drain and this was refused."""

DRAINED: Final = "drained"
"""What a `Drain` answers when it did."""
Drain = Callable[[NodeFinding], str]
"""Drains this node for this finding, or not; answers what was done."""


class HealthState(Fact, frozen=True, kw_only=True):
    """From one run to the next."""

    marks: Marks = Marks()
    gpus: NodeGpus | None = None
    seen: tuple[Seen, ...] = ()
    told: tuple[str, ...] = ()
    """Levels and rules of the last record."""
    told_at: float = 0.0
    asked_at: float = 0.0
    drain: str = ""
    """What was done about the finding that is fatal now."""


def health(settings: HookSettings, job: Job, spool: Spool, look: Look, drain: Drain) -> NodeRecord:
    """Look, compare with the runs before, and write down what has changed."""
    began = time.monotonic()
    state = spool.load(_STATE, HealthState) or HealthState()
    known = spool.load(KNOWN, Reading)
    reading = look(state.marks)
    seen = _seen(state, known, reading, settings)
    is_booting = reading.uptime_s is not None and reading.uptime_s < settings.boot_window_s
    findings = verdict.worst_first(debounce.confirmed(seen, settings, is_booting=is_booting), settings)
    asked_at, done = _drained(state, findings, settings, drain, now=reading.at)
    signs = reading.kernel.signs if reading.kernel else ()
    record = verdict.record(
        "health",
        job,
        reading,
        findings,
        xids=verdict.xids(signs, reading.gpus),
        drain=done,
        took_ms=round((time.monotonic() - began) * 1000),
    )
    told = tuple(f"{each.level} {each.rule} {each.gpu}" for each in findings)
    is_news = told != state.told or done != state.drain or reading.at - state.told_at > _REPEAT_S
    if is_news:
        spool.append(record)
    if _is_whole(reading, known):
        spool.keep(KNOWN, reading)
    spool.keep(
        _STATE,
        HealthState(
            marks=_marks(state.marks, reading.marks),
            gpus=reading.gpus or state.gpus,
            seen=seen,
            told=told,
            told_at=reading.at if is_news else state.told_at,
            asked_at=asked_at,
            drain=done,
        ),
    )
    return record


def _seen(state: HealthState, known: Reading | None, reading: Reading, settings: HookSettings) -> tuple[Seen, ...]:
    boot = reading.marks.boot_id
    missing = compare.growth(known.gpus if known and known.marks.boot_id == boot else None, reading.gpus)
    grown = compare.growth(state.gpus if state.marks.boot_id == boot else None, reading.gpus)
    states = (
        *judge_gpus.of_state(reading.gpus, known.gpus if known else None, settings),
        *judge_gpus.of_growth(compare.only_missing(missing), settings),
        *leftovers.of_places(leftovers.full_places(reading, settings), settings),
        *verdict.of_told(reading.told),
        *verdict.of_silence(reading),
    )
    # A process killed for want of memory is its job's own affair, and in the epilog's record.
    signs = tuple(sign for sign in (reading.kernel.signs if reading.kernel else ()) if sign.rule != "oom_kill")
    events = (
        *verdict.of_signs(signs, reading.gpus or state.gpus),
        *judge_gpus.of_growth(compare.only_counters(grown), settings),
    )
    return debounce.debounced(state.seen, states, events, now=reading.at, settings=settings)


def _marks(old: Marks, new: Marks) -> Marks:
    """A log that could not be read this time is read on from where it was read last."""
    if not new.boot_id:
        return old
    if new.kernel_number >= 0 or old.boot_id != new.boot_id:
        return new
    return msgspec.structs.replace(new, kernel_number=old.kernel_number)


def _is_whole(reading: Reading, known: Reading | None) -> bool:
    """Whether this reading may stand for what should be there."""
    gpus = reading.gpus
    if gpus is None or not reading.marks.boot_id or any(gpu.error for gpu in gpus.gpus.values()):
        return False
    if known is None or known.gpus is None:
        return True
    if (gpus.device_count or 0) < (known.gpus.device_count or 0):
        return False
    if known.marks.boot_id != reading.marks.boot_id:
        return True
    missing = compare.growth(known.gpus, gpus)
    return not (missing.lost or missing.links_down or missing.narrower)


def _drained(
    state: HealthState, findings: tuple[NodeFinding, ...], settings: HookSettings, drain: Drain, *, now: float
) -> tuple[float, str]:
    """When Slurm was asked last, and what is said of a drain. Asked once for what stays fatal; again where refused.

    Who takes the node back into service while the fault lasts has decided so, and is not overruled.
    """
    if not findings or findings[0].level != "fatal" or settings.drain == "never":
        return 0.0, ""
    if settings.drain == "suggest" or "health" not in settings.drain_in:
        return 0.0, "suggested"
    if state.drain == DRAINED or now - state.asked_at < _ASK_AGAIN_S:
        return state.asked_at, state.drain
    return now, drain(findings[0])
