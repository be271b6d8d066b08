"""What leaves the run folder of an interruption: names that Slurm knows and numbers, no word of a log. Pure."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from supervisor.model.ids import NodeName
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.site import LONGEST_PART_S, MOST_GPUS, SiteGpu, SiteIncident, SiteSplit
from supervisor.model.verdict import GpuRef

_CAUSE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DIGITS: Final = 3
"""Milliseconds: more are noise, and a third of the line."""

_MEASURED: Final = frozenset({"detect", "collect"})
"""Also where they took no time: a report has their medians, and of the others the sums."""


def site_incident(record: IncidentRecord, run: str) -> SiteIncident:
    """The line for a record; `run`: what stands for the run. Only nodes that the job had are named."""
    verdict, had = record.verdict, {*record.nodes_before, *record.nodes_after}
    nodes, left = _known(verdict.blame.nodes, had), _known(verdict.exclude_nodes, had)
    all_left = bool(nodes) and left == nodes
    return SiteIncident(
        at=rounded(record.opened_at),
        evidence_at=_evidence_at(record),
        job=record.job_id,
        run=run,
        incident=record.incident,
        cls=verdict.cls,
        cause=verdict.cause if _CAUSE.fullmatch(verdict.cause) else "unattributed",
        confidence=round(min(1.0, max(0.0, verdict.confidence)), _DIGITS),
        nodes=nodes,
        gpus=tuple(SiteGpu(node=each.node, gpu=each.gpu) for each in verdict.blame.gpus if _is_known(each, had)),
        excluded=() if all_left else left,
        all_left=all_left,
        action=record.action,
        isolation=record.isolation,
        node_count=len(record.nodes_before),
        split=_rounded_split(record.split),
        recovery_s=None if record.recovery_s is None else rounded(record.recovery_s),
        steps_lost=record.steps_lost,
        lost_node_s=rounded(max(0.0, record.lost_node_seconds)),
        is_closed=record.is_closed,
    )


def _evidence_at(record: IncidentRecord) -> float | None:
    """None where the line tells it already."""
    detect = record.split.detect
    is_told = detect is not None and abs(record.opened_at - detect - record.evidence_at) < 10**-_DIGITS
    return None if is_told else rounded(record.evidence_at)


def rounded(seconds: float) -> float:
    """To the millisecond."""
    return round(seconds, _DIGITS)


def _is_known(gpu: GpuRef, had: set[NodeName]) -> bool:
    """A reader refuses a line with a number that no GPU has."""
    return gpu.node in had and 0 <= gpu.gpu <= MOST_GPUS


def _known(nodes: Iterable[NodeName], had: set[NodeName]) -> tuple[NodeName, ...]:
    """A verdict may name a node that a log speaks of and the job never had."""
    return tuple(node for node in nodes if node in had)


def _rounded_split(split: Split) -> SiteSplit:
    """Parts that took no time are left out: they add nothing, and are a quarter of a line."""
    parts = {name: min(LONGEST_PART_S, rounded(value or 0.0)) for name, value in msgspec.structs.asdict(split).items()}
    took = {name: value for name, value in parts.items() if value > 0 or name in _MEASURED}
    return SiteSplit(**{name: value for name, value in took.items() if getattr(split, name) is not None})
