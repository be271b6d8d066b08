"""Mean time between interruptions, for all jobs and for each size, with where it may really lie. Pure."""

from collections.abc import Mapping
from typing import Final

from supervisor.report.fleet.cost import HOUR_S
from supervisor.report.fleet.garwood import poisson_bounds
from supervisor.report.fleet.model import Interval, Rate
from supervisor.report.fleet.sums import Held
from supervisor.report.fleet.window import DAY_S

_PER: Final = 1000


def rates(held: Mapping[int, Held]) -> tuple[Rate, tuple[Rate, ...]]:
    """That of all jobs, and of each class of size."""
    total = Held()
    for one in held.values():
        total.add(one)
    return _rate("all", total), tuple(_rate(size_text(size), held[size]) for size in sorted(held))


def size_text(size: int) -> str:
    """`1`, `2`, `3~4`, `5~8`; `unknown`."""
    if not size:
        return "unknown"
    smallest = size // 2 + 1
    return str(size) if smallest == size else f"{smallest}~{size}"


def _rate(nodes: str, held: Held) -> Rate:
    job_h, node_d = held.job_s / HOUR_S, held.node_s / DAY_S
    return Rate(
        nodes=nodes,
        jobs=held.jobs,
        interruptions=held.interruptions,
        job_h=job_h,
        node_d=node_d,
        mtbi_h=mean_time(held.interruptions, job_h),
        per_1000_node_d=per_time(held.interruptions, node_d / _PER),
    )


def mean_time(count: int, time: float) -> Interval:
    """Time for each of `count`. None was seen: a lower bound and no estimate."""
    if time <= 0.0:
        return Interval(estimate=None, low=None, high=None)
    low, high = poisson_bounds(count)
    return Interval(
        estimate=time / count if count else None,
        low=time / high,
        high=time / low if low else None,
    )


def per_time(count: int, time: float) -> Interval:
    """How many for each unit of time."""
    if time <= 0.0:
        return Interval(estimate=None, low=None, high=None)
    low, high = poisson_bounds(count)
    return Interval(estimate=count / time, low=low / time, high=high / time)
