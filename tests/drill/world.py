"""A run folder that behaves as one of a living run, and steps that do to it what a fault does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from supervisor.drill.inject import NotMade, Steps
from supervisor.drill.kinds import Kind
from supervisor.drill.record import Injection
from supervisor.drill.watch import Watched
from supervisor.ledger.records import record_path
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.run_folder import create
from supervisor.model.base import encode
from supervisor.model.ids import IncidentNo, JobId, NodeName, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.status import RunStatus
from supervisor.report.view import RunView, read_view
from supervisor.slurm.process import CallCount
from tests.drill.made import injection

NODES = (NodeName("node001"), NodeName("node002"))


@dataclass
class World:
    """One run, its status and its incidents."""

    folder: Path
    step: int = 50
    is_moving: bool = True
    """A look at the status finds new steps."""
    writes: float = 0.0
    """Seconds between two looks at the status, by its own clock."""
    status: RunStatus = field(init=False)

    def __post_init__(self) -> None:
        create(self.folder, RunFile(run_id=RunId("drill-abcde"), created_at=1.0, python="py"), {})
        self.status = RunStatus(
            run_id=RunId("drill-abcde"),
            job_id=JobId("7"),
            updated_at=1.0,
            stage="running",
            step=self.step,
            nodes=NODES,
            attempt_nodes=NODES,
            nodes_up=2,
        )
        self.write()

    def write(self, **changes: Any) -> None:
        """The status with these fields."""
        self.status = msgspec.structs.replace(self.status, **changes)
        (self.folder / "status.json").write_bytes(encode(self.status))

    def interrupt(self, what: IncidentRecord) -> None:
        """An incident as the supervisor keeps it."""
        path = record_path(self.folder, what.incident)
        path.parent.mkdir(parents=True)
        path.write_bytes(encode(what))

    def watched(self) -> Watched:
        """As a drill sees it; time goes on with each look."""
        return _Moving(folder=self.folder, world=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moving(Watched):
    world: World

    def view(self) -> RunView | None:
        """The supervisor writes again and again."""
        self.world.write(updated_at=self.world.status.updated_at + self.world.writes)
        return read_view(self.folder)

    def step(self) -> int:
        """It grows."""
        if self.world.is_moving:
            self.world.step += 5
        return self.world.step


@dataclass
class FakeTarget:
    """A user's job on two nodes, the first of which runs the script."""

    world: World
    train: Path | None = None

    async def run(self) -> Watched:
        """The one there is."""
        return self.world.watched()

    async def batch_host(self, job: JobId) -> NodeName:
        """The first node."""
        assert job == "7"
        return NODES[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeSteps(Steps):
    """Does to the world what it is told to; notes where each fault was made."""

    env: Mapping[str, str] = field(default_factory=dict)
    count: CallCount = field(default_factory=CallCount)
    deed: Callable[[], None] | None = None
    """None: there is nobody to hit."""
    back_at: float | None = None
    where: list[tuple[str, str]] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)

    async def hit(self, kind: Kind, job: JobId, node: NodeName, wait_s: float) -> Injection:
        """The deed, at the usual moment."""
        assert job == "7"
        self.where.append((kind.name, node))
        if self.deed is None:
            raise NotMade("no process of its kind was found")
        self.deed()
        return injection(node=node, back_at=self.back_at if wait_s else None)

    async def undo(self, injection: Injection, job: JobId) -> None:
        """Noted."""
        assert job == "7"
        self.undone.append(injection.pid)


FIRST = IncidentNo(1)
