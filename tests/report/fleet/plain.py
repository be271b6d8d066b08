"""The figures of a report, made slowly: one interruption after the other, every value at hand, nothing put together."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import fsum
from statistics import median
from typing import Any

from supervisor.ledger.site.history import JobHistory
from supervisor.model.site import SiteIncident
from supervisor.model.verdict import Class
from supervisor.report.fleet.window import Asked, day_text, overlap

_NAMES: dict[str, Callable[[JobHistory, SiteIncident, Asked], str]] = {
    "node": lambda _, one, __: one.nodes[0] if one.nodes else "none named",
    "partition": lambda job, _, __: job.job.partition or "unknown",
    "user": lambda job, _, __: job.job.user or "unknown",
    "day": lambda _, one, __: day_text(int(one.at // 86_400)),
    "week": lambda _, one, asked: day_text(asked.week_of(int(one.at // 86_400))),
    "cause": lambda _, one, __: one.cause,
}


@dataclass(frozen=True)
class _Seen:
    job: JobHistory
    one: SiteIncident
    lost_node_s: float
    fate: str


def figures(jobs: Iterable[JobHistory], asked: Asked) -> dict[str, Any]:
    """What `report` must say of them."""
    known = [job for job in jobs if job.is_trusted and job.job.at < asked.until and _last_at(job) >= asked.begin]
    inside = [(job, one) for job in known for one in job.incidents if asked.begin <= one.at < asked.until]
    seen = [
        _Seen(job, one, one.lost_node_s * _share_possible(job, asked), _fate(job, one, asked))
        for job, one in inside
        if one.cls is not Class.PLANNED
    ]
    held = {index: _held(job, asked) for index, job in enumerate(known)}
    return {
        "jobs": len(known),
        "runs": len({(job.job.cluster, job.person or job.job.user or job.owner, job.job.run) for job in known}),
        "planned": len(inside) - len(seen),
        "interruptions": len(seen),
        "by_person": sum(each.fate == "person" for each in seen),
        "not_over": sum(each.fate == "open" for each in seen),
        "classes": Counter(str(each.one.cls) for each in seen),
        "lost_h": fsum(each.lost_node_s for each in seen) / 3600,
        "lost_gpu_h": fsum(each.lost_node_s * each.job.job.gpus_per_node for each in seen) / 3600,
        "lost_kwh": fsum(each.lost_node_s * _watts(each.job) for each in seen) / 3.6e6,
        "groups": {by: _group(seen, by, asked) for by in _NAMES},
        "held_h": fsum(held.values()) / 3600,
        "detection": _spread(each.one.split.detect for each in seen),
        "isolation": _spread(each.one.split.collect for each in seen),
        "recovery": _spread(each.one.recovery_s for each in seen),
        "catch_up": fsum(each.one.split.catch_up or 0.0 for each in seen),
        "isolated_to": Counter(each.one.isolation for each in seen),
        "rows": sorted((each.one.at, each.job.job.job, each.one.cause) for each in seen),
    }


def _group(seen: Iterable[_Seen], by: str, asked: Asked) -> dict[str, tuple[int, int, float, float]]:
    """By name: how many, how many for a person, node-hours, kWh."""
    found: dict[str, list[_Seen]] = defaultdict(list)
    for each in seen:
        found[_NAMES[by](each.job, each.one, asked)].append(each)
    return {
        name: (
            len(mine),
            sum(each.fate == "person" for each in mine),
            fsum(each.lost_node_s for each in mine) / 3600,
            fsum(each.lost_node_s * _watts(each.job) for each in mine) / 3.6e6,
        )
        for name, mine in found.items()
    }


def _last_at(job: JobHistory) -> float:
    return max(job.job.at, job.use.at if job.use else job.job.at, *(one.at for one in job.incidents[-1:]))


def _held(job: JobHistory, asked: Asked) -> float:
    use = job.use
    return use.held_node_s * overlap(job.job.at, use.at, asked.begin, asked.until) if use else 0.0


def _share_possible(job: JobHistory, asked: Asked) -> float:
    """Of what its interruptions claim to have lost."""
    mine = [one for one in job.incidents if one.cls is not Class.PLANNED and asked.begin <= one.at < asked.until]
    lost = fsum(one.lost_node_s for one in mine)
    ends = [one.at + sum(value or 0.0 for value in _after_opening(one)) for one in mine]
    until = min(max(_last_at(job), *ends), asked.until) if ends else 0.0
    nodes = len(job.job.nodes) or max((one.node_count for one in job.incidents), default=0)
    limit = max(_held(job, asked), nodes * (until - max(job.job.at, asked.begin) + 1.0))
    return 1.0 if lost <= limit else limit / lost


def _after_opening(one: SiteIncident) -> tuple[float | None, ...]:
    split = one.split
    return split.collect, split.decide, split.stop, split.launch, split.init, split.catch_up


def _watts(job: JobHistory) -> float:
    use = job.use
    return use.energy_j / use.held_node_s if use and use.energy_j is not None and use.held_node_s > 0 else 0.0


def _fate(job: JobHistory, one: SiteIncident, asked: Asked) -> str:
    """As docs/report.md has it."""
    end = job.use.end if job.use else ""
    is_last = one is job.incidents[-1]
    if one.action in {"stop", "observe", "none"} or (is_last and end == "failed" and not one.is_closed):
        return "person"
    if one.recovery_s is not None or not one.action.startswith("relaunch"):
        return "handled"
    follower = next((each for each in job.incidents if each.incident > one.incident), None)
    if follower is not None and follower.cls is not Class.PLANNED:
        return _fate(job, follower, asked)
    if end in {"completed", "handed_on"}:
        return "handled"
    return "person" if end or _last_at(job) < asked.until - 7200.0 else "open"


def _spread(values: Iterable[float | None]) -> tuple[int, float, float, float] | None:
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    ninth = next(value for rank, value in enumerate(known, 1) if rank >= 0.9 * len(known))
    return len(known), median(known), ninth, known[-1]
