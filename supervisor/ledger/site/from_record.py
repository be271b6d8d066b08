"""What leaves the run folder of an interruption: names that Slurm knows and numbers, no word of a log. Pure."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from supervisor.model.ids import NodeName
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.site import SiteGpu, SiteIncident

_CAUSE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DIGITS: Final = 3
"""Milliseconds: more are noise, and a third of the line."""


def site_incident(record: IncidentRecord, run: str) -> SiteIncident:
    """The line for a record; `run`: what stands for the run. Only nodes that the job had are named."""
    verdict, had = record.verdict, {*record.nodes_before, *record.nodes_after}
    return SiteIncident(
        at=rounded(record.opened_at),
        evidence_at=rounded(record.evidence_at),
        job=record.job_id,
        run=run,
        incident=record.incident,
        cls=verdict.cls,
        cause=verdict.cause if _CAUSE.fullmatch(verdict.cause) else "unattributed",
        confidence=round(min(1.0, max(0.0, verdict.confidence)), _DIGITS),
        nodes=_known(verdict.blame.nodes, had),
        gpus=tuple(SiteGpu(node=each.node, gpu=each.gpu) for each in verdict.blame.gpus if each.node in had),
        excluded=_known(verdict.exclude_nodes, had),
        action=record.action,
        isolation=record.isolation,
        node_count=len(record.nodes_before),
        split=_rounded_split(record.split),
        recovery_s=None if record.recovery_s is None else rounded(record.recovery_s),
        steps_lost=record.steps_lost,
        lost_node_s=rounded(max(0.0, record.lost_node_seconds)),
        is_closed=record.is_closed,
    )


def rounded(seconds: float) -> float:
    """To the millisecond."""
    return round(seconds, _DIGITS)


def _known(nodes: Iterable[NodeName], had: set[NodeName]) -> tuple[NodeName, ...]:
    """A verdict may name a node that a log speaks of and the job never had."""
    return tuple(node for node in nodes if node in had)


def _rounded_split(split: Split) -> Split:
    parts = {name: rounded(value) for name, value in msgspec.structs.asdict(split).items() if value is not None}
    return Split(**parts)
