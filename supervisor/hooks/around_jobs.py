"""What the prolog keeps, and what the epilog makes of it. No call to Slurm: it may be what waits for this hook."""

import time
from dataclasses import dataclass
from typing import Any, Final

from supervisor.hooks import growth as compare
from supervisor.hooks import judge_gpus, leftovers, verdict
from supervisor.hooks.growth import Growth
from supervisor.hooks.health import KNOWN
from supervisor.hooks.job import Job
from supervisor.hooks.kernel_signs import KernelSign
from supervisor.hooks.reading import Look, Marks, Reading
from supervisor.hooks.settings import HookSettings
from supervisor.hooks.spool import Spool
from supervisor.model.node import Hook, Leftovers, NodeFinding, NodeRecord
from supervisor.telemetry.gpu.state import NodeGpus

_PREFIX: Final = "job-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a hook has found, and what it answers Slurm with."""

    record: NodeRecord
    exit_code: int = 0


def prolog(settings: HookSettings, job: Job, spool: Spool, look: Look) -> Outcome:
    """Keep a reading for the epilog; a record only where something is wrong already."""
    began = time.monotonic()
    reading = look(Marks())
    if job.job_id:
        spool.keep(_baseline(job), reading)
        spool.drop_oldest(_PREFIX)
    known = spool.load(KNOWN, Reading)
    found = (
        *judge_gpus.of_state(reading.gpus, known.gpus if known else None, settings),
        *leftovers.of_places(leftovers.full_places(reading, settings), settings),
        *verdict.of_silence(reading),
    )
    outcome = _outcome("prolog", settings, job, reading, found, took_ms=_ms_since(began))
    if verdict.rank(outcome.record.level) >= verdict.rank("suspect"):
        spool.append(outcome.record)
    return outcome


def epilog(settings: HookSettings, job: Job, spool: Spool, look: Look) -> Outcome:
    """One record: what the node looks like after the job, beside what it looked like before."""
    began = time.monotonic()
    before = spool.load(_baseline(job), Reading) if job.job_id else None
    reading = look(before.marks if before else Marks())
    # Counters of another boot say nothing about this job.
    same_boot = before if before and before.marks.boot_id and before.marks.boot_id == reading.marks.boot_id else None
    grown = compare.growth(same_boot.gpus if same_boot else None, reading.gpus, minors=job.gpus)
    left = leftovers.leftovers(reading, same_boot, job, settings)
    signs = reading.kernel.signs if reading.kernel else ()
    old_gpus = before.gpus if before else None
    outcome = _outcome(
        "epilog",
        settings,
        job,
        reading,
        _after_job(reading, old_gpus, grown, left, signs, settings),
        gpus={uuid: dict(counters) for uuid, counters in grown.counters.items()},
        lost_gpus=grown.lost,
        xids=verdict.xids(signs, reading.gpus or old_gpus),
        oom_kills=_oom_kills(same_boot, reading),
        is_partial=same_boot is None or bool(reading.kernel and reading.kernel.is_cut),
        leftovers=left,
        took_ms=_ms_since(began),
    )
    spool.append(outcome.record)
    spool.drop(_baseline(job))
    return outcome


def _after_job(
    reading: Reading,
    old_gpus: NodeGpus | None,
    grown: Growth,
    left: Leftovers,
    signs: tuple[KernelSign, ...],
    settings: HookSettings,
) -> tuple[NodeFinding, ...]:
    return (
        *judge_gpus.of_state(reading.gpus, old_gpus, settings),
        *judge_gpus.of_growth(grown, settings),
        *verdict.of_signs(signs, reading.gpus or old_gpus),
        *leftovers.of_leftovers(left),
        *leftovers.of_places(left.full, settings),
        *verdict.of_told(reading.told),
        *verdict.of_silence(reading),
    )


def _baseline(job: Job) -> str:
    return f"{_PREFIX}{job.job_id}.json"


def _outcome(
    hook: Hook, settings: HookSettings, job: Job, reading: Reading, found: tuple[NodeFinding, ...], **more: Any
) -> Outcome:
    findings = verdict.worst_first(found, settings)
    is_fatal = bool(findings) and findings[0].level == "fatal"
    # 1 makes Slurm drain the node, and put a batch job of a failed prolog on hold: only where the site has said so.
    code = int(is_fatal and settings.drain == "act" and hook in settings.drain_in)
    drain = "" if not is_fatal or settings.drain == "never" else "the hook fails" if code else "suggested"
    return Outcome(record=verdict.record(hook, job, reading, findings, drain=drain, **more), exit_code=code)


def _oom_kills(before: Reading | None, reading: Reading) -> int | None:
    was, now = before.marks.oom_kills if before else None, reading.marks.oom_kills
    return None if was is None or now is None else max(0, now - was)


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
