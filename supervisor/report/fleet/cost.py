"""What interruptions cost: node time, GPU time where GPUs are known, energy where it was read. Pure."""

from dataclasses import dataclass
from typing import Final

from supervisor.ledger.site.history import JobHistory
from supervisor.report.fleet.model import Cost

HOUR_S: Final = 3600.0
KWH_J: Final = 3.6e6


@dataclass(slots=True)
class Loss:
    """A sum over interruptions."""

    interruptions: int = 0
    by_person: int = 0
    node_s: float = 0.0
    gpu_s: float = 0.0
    bare_node_s: float = 0.0
    energy_j: float = 0.0

    def add(self, other: "Loss") -> None:
        """Both together."""
        self.interruptions += other.interruptions
        self.by_person += other.by_person
        self.node_s += other.node_s
        self.gpu_s += other.gpu_s
        self.bare_node_s += other.bare_node_s
        self.energy_j += other.energy_j

    def cost(self, *, is_energy_known: bool) -> Cost:
        """In the units of the report."""
        return Cost(
            node_h=self.node_s / HOUR_S,
            gpu_h=self.gpu_s / HOUR_S,
            bare_node_h=self.bare_node_s / HOUR_S,
            kwh=self.energy_j / KWH_J if is_energy_known else None,
        )


def loss(interruptions: float, by_person: float, node_s: float, energy_j: float, *, gpus: int) -> Loss:
    """Of interruptions of jobs that have so many GPUs on each node; 0: not known."""
    bare = 0.0 if gpus else node_s
    return Loss(int(interruptions), int(by_person), node_s, node_s * gpus, bare, energy_j)


def watts(history: JobHistory) -> float:
    """Mean power of the GPUs of one node of this job, since nobody measures what a lost second took; 0: not read."""
    use = history.use
    if use is None or use.energy_j is None or use.held_node_s <= 0:
        return 0.0
    return use.energy_j / use.held_node_s
