"""What a site's ledger holds of a job: one small file of lines for each, written by the job's own user.

No log text, no command line, no job name, no path: class, cause, node, GPU, times, who. `docs/ledger.md` describes it.
"""

from typing import Annotated, Literal

from msgspec import Meta

from supervisor.model.base import Fact
from supervisor.model.ids import IncidentNo, JobId, NodeName
from supervisor.model.records import Split
from supervisor.model.verdict import Class

SCHEMA = 1
"""Of the lines below. A reader knows the two schemas before its own as well, and leaves out what is newer."""

Schema = Annotated[int, Meta(ge=0, le=SCHEMA)]
When = Annotated[float, Meta(ge=0, le=4.1e9)]
"""Seconds since the epoch; 2099 at the latest. A reader refuses what cannot be: a forged number must not tip a mean."""
Amount = Annotated[float, Meta(ge=0, le=1e15)]
"""Node-seconds and joules; where a job's lines are put together they are bounded by what its nodes could bear."""
LONGEST_PART_S = 1e7
Part = Annotated[float, Meta(ge=0, le=LONGEST_PART_S)]
"""Seconds of one part of a recovery: four months."""
Count = Annotated[int, Meta(ge=0, le=10**15)]
Times = Annotated[int, Meta(ge=0, le=10**6)]
"""How often something happened, or how many nodes there were."""
MOST_GPUS = 1024
GpuCount = Annotated[int, Meta(ge=0, le=MOST_GPUS)]
"""On one node, or which of them."""
NAMED = Meta(min_length=1, max_length=64)
"""No name at all would be that of no job."""
Likelihood = Annotated[float, Meta(ge=0, le=1)]
End = Literal["", "completed", "stopped", "handed_on", "cancelled", "time_limit", "failed"]
"""How a job ended."""


class SiteGpu(Fact, frozen=True, kw_only=True):
    """One GPU that a verdict blames; its UUID where it was read."""

    node: NodeName
    gpu: GpuCount
    uuid: str = ""


class SiteSplit(Split, frozen=True, kw_only=True):
    """Where the time of a recovery went, in seconds that can be. A part that took none, or did not happen, is None."""

    detect: Part | None = None
    collect: Part | None = None
    decide: Part | None = None
    stop: Part | None = None
    launch: Part | None = None
    init: Part | None = None
    catch_up: Part | None = None


class SiteJob(Fact, frozen=True, kw_only=True, tag_field="kind", tag="job"):
    """The first line: the allocation, as it was when supervision began."""

    schema: Schema = SCHEMA
    at: When
    """When the job began, seconds since the epoch."""
    cluster: str = ""
    job: Annotated[JobId, NAMED]
    run: Annotated[str, NAMED]
    """The run that the job belongs to: a digest of its id, since that begins with the job's name."""
    user: str = ""
    """Name, pseudonym (`p-…`) or empty. The file's owner is what counts where the name is plain."""
    partition: str = ""
    nodes: tuple[NodeName, ...] = ()
    gpus_per_node: GpuCount = 0
    """0: none, or not known."""
    time_limit_s: Amount | None = None
    version: str = ""
    """Of supervise."""


class SiteIncident(Fact, frozen=True, kw_only=True, tag_field="kind", tag="incident"):
    """One interruption; of several lines with the same number the last one counts."""

    schema: Schema = SCHEMA
    at: When
    """When it was opened."""
    evidence_at: When | None = None
    """None: `split.detect` before it was opened."""
    job: Annotated[JobId, NAMED]
    run: Annotated[str, NAMED]
    incident: Annotated[IncidentNo, Meta(ge=0, le=10**9)]
    """Counts over the run."""
    cls: Class
    cause: str
    confidence: Likelihood
    nodes: tuple[NodeName, ...] = ()
    """To blame, most likely first."""
    gpus: tuple[SiteGpu, ...] = ()
    excluded: tuple[NodeName, ...] = ()
    """Nodes that had to leave, where those are others than the ones to blame; see `left`."""
    all_left: bool = False
    """Those to blame had to leave, and no others: to name them twice would be a tenth of the line."""
    action: str
    """relaunch, relaunch_on_spare, relaunch_smaller, resubmit, requeue, stop, none or observe."""
    isolation: str = "job"
    node_count: Times = 0
    """Of the interrupted attempt."""
    split: SiteSplit = SiteSplit()
    recovery_s: Amount | None = None
    """Verdict to ranks running."""
    steps_lost: Count | None = None
    lost_node_s: Amount = 0.0
    is_closed: bool = False

    @property
    def left(self) -> tuple[NodeName, ...]:
        """Nodes that had to leave."""
        return self.nodes if self.all_left else self.excluded


class SiteUse(Fact, frozen=True, kw_only=True, tag_field="kind", tag="use"):
    """What the job has used so far; the last line counts. Written at the start, hourly and at the end."""

    schema: Schema = SCHEMA
    at: When
    job: Annotated[JobId, NAMED]
    run: Annotated[str, NAMED]
    held_node_s: Amount
    """Node-seconds of the allocation, spares too."""
    computing_node_s: Amount
    """Of these, with ranks that made new steps: the numerator of ETTR."""
    restarts: Times = 0
    step: Count | None = None
    energy_j: Amount | None = None
    """Of all GPUs, where it was read."""
    end: End = ""
    """Empty: the job runs, or nobody could write its end."""


SiteLine = SiteJob | SiteIncident | SiteUse
