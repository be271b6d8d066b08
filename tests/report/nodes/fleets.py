"""Fleets as tests of node suspicion need them: made by hand, or by dice with a known truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from supervisor.ledger.site.history import JobHistory
from supervisor.model.ids import IncidentNo, JobId, NodeName
from supervisor.model.node import NodeFinding, NodeRecord
from supervisor.model.site import SiteIncident, SiteJob, SiteUse
from supervisor.model.verdict import Class
from supervisor.report.nodes.model import Look

DAY_S = 86_400.0
HOUR_S = 3600.0
UNTIL = 1_796_000_000.0
SINCE = UNTIL - 14 * DAY_S
LOOK = Look(since=SINCE, until=UNTIL)


def names(number: int) -> tuple[NodeName, ...]:
    return tuple(NodeName(f"n{index:03d}") for index in range(number))


def dice(seed: int) -> Random:
    """The same throws each time."""
    return Random(seed)  # noqa: S311  # no secret


def incident(at: float, *nodes: str, number: int = 1, run: str = "r1", **changes: Any) -> SiteIncident:
    """Fields of SiteIncident may be changed."""
    fields: dict[str, Any] = {
        "cls": Class.HARDWARE,
        "cause": "gpu_lost",
        "confidence": 0.9,
        "action": "relaunch_on_spare",
        "job": JobId("1"),
        "nodes": tuple(map(NodeName, nodes)),
    } | changes
    return SiteIncident(at=at, evidence_at=at, run=run, incident=IncidentNo(number), **fields)


def job(
    *incidents: SiteIncident,
    nodes: Sequence[str] = ("n000", "n001"),
    hours: float = 10.0,
    at: float = SINCE + DAY_S,
    **changes: Any,
) -> JobHistory:
    """One job that held its nodes so long; `job`, `run`, `owner`, `end`, `is_trusted`, `held_h` may be given."""
    number, run = changes.pop("job", "1"), changes.pop("run", "r1")
    held = changes.pop("held_h", hours * len(nodes)) * HOUR_S
    ended = at + hours * HOUR_S
    end = changes.pop("end", "")
    return JobHistory(
        job=SiteJob(at=at, job=JobId(number), run=run, nodes=tuple(map(NodeName, nodes))),
        incidents=incidents,
        use=SiteUse(at=ended, job=JobId(number), run=run, held_node_s=held, computing_node_s=held, end=end),
        **{"owner": "u1"} | changes,
    )


def record(at: float, level: str = "ok", rule: str = "", node: str = "n000", **changes: Any) -> NodeRecord:
    """One hook's record with one finding, unless it is ok; fields of NodeRecord may be changed."""
    text = changes.pop("text", "")
    gpu = changes.get("gpu", "")
    findings = () if level == "ok" else (NodeFinding(level=level, rule=rule, gpu=gpu, text=text),)  # type: ignore[arg-type]  # the test's own words
    fields: dict[str, Any] = {"hook": "epilog", "rule": rule, "findings": findings} | changes
    return NodeRecord(schema=1, at=at, node=node, level=level, **fields)  # type: ignore[arg-type]  # as above


@dataclass(frozen=True, kw_only=True)
class Dice:
    """A fleet whose nodes all have the same rate, but for those in `worse`."""

    nodes: int
    users: int = 6
    per_1000_node_h: float = 1.0
    worse: Mapping[str, float] = field(default_factory=dict)
    """Node: how many times the rate."""

    def throw(self, random: Random) -> list[JobHistory]:
        """Each day the fleet is shared out to some jobs of random sizes and lengths; incidents at random times."""
        jobs: list[JobHistory] = []
        for day in range(14):
            free = list(names(self.nodes))
            random.shuffle(free)
            while free:
                size = random.randint(1, max(1, self.nodes // 2))
                mine, free = free[:size], free[size:]
                jobs.append(self._job(len(jobs), mine, SINCE + day * DAY_S, random))
        return jobs

    def _job(self, number: int, nodes: list[NodeName], at: float, random: Random) -> JobHistory:
        hours, run = random.uniform(4.0, 24.0), f"r{number}"
        found: list[SiteIncident] = []
        for node in nodes:
            rate = self.per_1000_node_h / 1000.0 * self.worse.get(node, 1.0)
            when = random.expovariate(rate)
            while when < hours:
                found.append(incident(at + when * HOUR_S, node, number=len(found) + 1, run=run, job=JobId(f"{number}")))
                when += random.expovariate(rate)
        owner = f"u{random.randrange(self.users)}"
        return job(*found, nodes=nodes, hours=hours, at=at, job=f"{number}", run=run, owner=owner)
