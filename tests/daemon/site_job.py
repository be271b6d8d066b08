"""A run of the machine's test world whose supervisor writes to a ledger."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from supervisor.core.events import Event
from supervisor.core.instructions import KeepRecord
from supervisor.daemon.hands.record import keep
from supervisor.daemon.hands.site import SiteHand, site_hand
from supervisor.daemon.world import World
from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.read import read_site
from supervisor.ledger.writer import Writer
from supervisor.settings import Settings
from tests.core import harness

ENV = {"SLURM_CLUSTER_NAME": "c1", "SLURM_JOB_PARTITION": "gpu", "SLURM_GPUS_ON_NODE": "8"}
NODES = 4


@dataclass
class SiteRun:
    """A run of the machine's test world whose supervisor writes to a ledger."""

    tmp_path: Path
    settings: Settings
    writer: Writer = field(default_factory=Writer)
    core: harness.World = field(default_factory=harness.World)
    hand: SiteHand | None = None
    clock: float = 0.0
    restarts: int = 0
    """SLURM_RESTART_COUNT."""

    def world(self) -> World:
        """What the hand sees of the supervisor."""
        made = SimpleNamespace(
            folder=self.tmp_path / "run",
            settings=self.settings,
            clock=lambda: self.core.at + self.clock,
            writer=self.writer,
            around=SimpleNamespace(is_slurm=True, restarts=self.restarts, raw_job_id="17"),
            run=SimpleNamespace(run_id="llama-abcde", workdir=str(self.tmp_path)),
            tell_site=lambda record: self.hand.incident(record) if self.hand else None,
        )
        return cast("World", made)

    async def supervise(self, *, is_takeover: bool = False, env: dict[str, str] | None = None) -> SiteHand | None:
        """The supervisor begins; from now on the hand follows the machine."""
        world = self.world()
        self.hand = await site_hand(
            world, self.core.state, is_takeover=is_takeover, time_limit_s=3600.0, env=ENV if env is None else env
        )
        send = harness.World.send

        def follow(event: Event) -> None:
            known = len(self.core.done)
            send(self.core, event)
            for order in self.core.done[known:]:
                if isinstance(order, KeepRecord):
                    keep(world, order)
            if self.hand is not None:
                self.hand.changed(self.core.state)

        cast("Any", self.core).send = follow
        return self.hand

    async def read(self) -> JobHistory:
        """What the ledger says of the job, once all is written."""
        assert self.hand
        assert await self.hand._writer.flushed(30)
        history = read_site(self.tmp_path / "ledger")
        assert not history.problems
        (found,) = history.jobs
        return found

    def lines(self) -> list[bytes]:
        """The job's file."""
        (path,) = (self.tmp_path / "ledger").rglob("*.jsonl")
        return path.read_bytes().splitlines()
