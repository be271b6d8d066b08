"""What is kept of an interruption, for `why`, `report` and the ledger."""

from supervisor.model.base import Fact
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, RunId
from supervisor.model.verdict import Verdict


class Split(Fact, frozen=True, kw_only=True):
    """Where the time of one recovery went, in seconds; None = this part did not happen (yet)."""

    detect: float | None = None
    """First evidence (last sign of life, or the moment of the crash) to the opening of the incident."""
    collect: float | None = None
    """Opening to verdict."""
    decide: float | None = None
    """Verdict to action."""
    stop: float | None = None
    """Action to proof that no process of the attempt lives."""
    launch: float | None = None
    """Proof to ranks running (shrink, tier 0, script, srun)."""
    init: float | None = None
    """Ranks running to their first beat in a training step."""
    catch_up: float | None = None
    """First beat to the furthest step reached before the interruption."""

    @property
    def after_opening_s(self) -> float:
        """From the opening of the incident to the furthest step again, as far as that was measured."""
        parts = (self.collect, self.decide, self.stop, self.launch, self.init, self.catch_up)
        return sum(part for part in parts if part is not None)


class IncidentRecord(Fact, frozen=True, kw_only=True):
    """One interruption, `incidents/NNN/verdict.json`."""

    schema: int = 1
    run_id: RunId
    job_id: JobId
    incident: IncidentNo
    attempt: AttemptNo
    """The attempt that was interrupted."""
    opened_at: float
    evidence_at: float
    """First evidence."""
    verdict: Verdict
    action: str
    """relaunch, relaunch_on_spare, relaunch_smaller, resubmit, requeue, stop, none or observe."""
    action_text: str = ""
    """One sentence for a person."""
    isolation: str = "job"
    """rank, gpu, node or job: the finest unit that the verdict names."""
    nodes_before: tuple[NodeName, ...] = ()
    nodes_after: tuple[NodeName, ...] = ()
    split: Split = Split()
    recovery_s: float | None = None
    """Verdict to ranks running."""
    resumed_from: str | None = None
    resumed_step: int | None = None
    step_before: int | None = None
    """The furthest step seen before the interruption."""
    steps_lost: int | None = None
    lost_node_seconds: float = 0.0
    """Nodes times seconds from first evidence, plus the recomputed steps, to the furthest step again."""
    is_closed: bool = False
