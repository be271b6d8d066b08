"""Single interruptions as rows of a table. Pure."""

from collections.abc import Callable

from supervisor.ledger.site.history import JobHistory
from supervisor.model.site import SiteIncident
from supervisor.report.fleet.cost import loss, watts
from supervisor.report.fleet.model import Interruption


def interruption(history: JobHistory, one: SiteIncident, name_of: Callable[[str], str]) -> Interruption:
    """One row."""
    job, power = history.job, watts(history)
    lost = loss(1, 0, one.lost_node_s, one.lost_node_s * power, gpus=job.gpus_per_node)
    return Interruption(
        at=one.at,
        cluster=job.cluster,
        job=job.job,
        run=job.run,
        user=name_of(job.user),
        partition=job.partition,
        node_count=one.node_count or len(job.nodes),
        gpus_per_node=job.gpus_per_node,
        cls=str(one.cls),
        cause=one.cause,
        confidence=one.confidence,
        nodes=tuple(one.nodes),
        gpus=tuple(f"{gpu.node}:{gpu.gpu}" for gpu in one.gpus),
        action=one.action,
        isolation=one.isolation,
        detect_s=one.split.detect,
        isolate_s=one.split.collect,
        recovery_s=one.recovery_s,
        steps_lost=one.steps_lost,
        cost=lost.cost(is_energy_known=power > 0),
    )
