"""Histories made by hand."""

from collections.abc import Sequence
from typing import Any

from supervisor.ledger.site.history import JobHistory, SiteHistory
from supervisor.model.ids import IncidentNo, JobId, NodeName
from supervisor.model.records import Split
from supervisor.model.site import SiteIncident, SiteJob, SiteUse
from supervisor.model.verdict import Class
from supervisor.report.fleet.make import report_of
from supervisor.report.fleet.model import FleetReport, Group
from supervisor.report.fleet.window import DAY_S, Asked

NOW = 20_500 * DAY_S - 3600.0
"""An hour before the end of a day."""
HOUR = 3600.0


def incident(number: int = 1, **changes: Any) -> SiteIncident:
    """A GPU of node003 broke a day ago, and the run went on without the node after half a minute."""
    usual = {
        "at": NOW - DAY_S,
        "evidence_at": NOW - DAY_S - 2.0,
        "job": JobId("17"),
        "run": "r1",
        "incident": IncidentNo(number),
        "cls": Class.HARDWARE,
        "cause": "gpu_lost",
        "confidence": 0.9,
        "nodes": (NodeName("node003"),),
        "action": "relaunch_on_spare",
        "isolation": "node",
        "node_count": 4,
        "split": Split(detect=2.0, collect=0.5, decide=0.1, stop=1.0, launch=2.0, init=10.0, catch_up=60.0),
        "recovery_s": 3.1,
        "steps_lost": 30,
        "lost_node_s": 4 * 75.0,
        "is_closed": True,
    }
    return SiteIncident(**{**usual, **changes})


def history(*incidents: SiteIncident, days: float = 2.0, ratio: float = 0.9, **changes: Any) -> JobHistory:
    """A job of four nodes with eight GPUs each that ran until an hour ago; `ratio`: of its time that was computing."""
    trusted = changes.pop("is_trusted", True)
    end = changes.pop("end", "completed")
    energy = changes.pop("energy_j", None)
    ended_at = changes.pop("ended_at", NOW - HOUR)
    usual = {
        "at": ended_at - days * DAY_S,
        "cluster": "c1",
        "job": JobId("17"),
        "run": "r1",
        "user": "anna",
        "partition": "batch",
        "nodes": tuple(NodeName(f"node{number:03d}") for number in range(1, 5)),
        "gpus_per_node": 8,
    }
    job = SiteJob(**{**usual, **changes})
    held = len(job.nodes) * (ended_at - job.at)
    use = SiteUse(
        at=ended_at,
        job=job.job,
        run=job.run,
        held_node_s=held,
        computing_node_s=held * ratio,
        energy_j=energy,
        end=end,
    )
    return JobHistory(job=job, incidents=incidents, use=use, owner=job.user, is_trusted=trusted)


def report(*jobs: JobHistory, source: Any = "ledger", **asked: Any) -> FleetReport:
    """Of these jobs, until now."""
    return report_of(SiteHistory(jobs=jobs), Asked(**{"until": NOW, **asked}), source=source)


def group(made: FleetReport, by: str) -> Group:
    return next(one for one in made.groups if one.by == by)


def weeks(ratios: Sequence[float]) -> list[JobHistory]:
    """One job in each of the last weeks, oldest first."""
    count = len(ratios)
    return [
        history(
            days=3.0,
            ratio=ratio,
            ended_at=NOW - (count - 1 - index) * 7 * DAY_S - DAY_S,
            job=JobId(str(index)),
            run=f"w{index}",
        )
        for index, ratio in enumerate(ratios)
    ]
