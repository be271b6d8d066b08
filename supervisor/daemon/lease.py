"""Signs of life for others: the lease in `term.json` for the agents, and for the keeper."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import msgspec

from supervisor.core.isolation import is_newer
from supervisor.daemon.clock import Clock
from supervisor.daemon.keeper_link import KeeperLink
from supervisor.daemon.surroundings import Surroundings
from supervisor.ledger.takeover import read_takeover
from supervisor.ledger.whole_file import replace_file
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.ids import NodeName
from supervisor.model.term import FILE, Term

RENEW_S = 5.0
_ALIVE_S = 2.0


class Lease:
    """The term of this supervisor. It is not renewed any more once another job has the run."""

    def __init__(self, folder: Path, writer: Writer, clock: Clock, around: Surroundings) -> None:
        self._folder = folder
        self._writer = writer
        self._clock = clock
        self._around = around
        self.written_at = clock()
        """When it was renewed last, as far as the filesystem said so; at first, when this process began."""
        self.lost_to = ""
        """Who has the run now, in words; empty: nobody else."""
        self.outlived: Term | None = None
        """The term of a later job that has ended, before this one was started again: it is replaced."""

    def renew(self, *, generation: int, address: str, held: Collection[NodeName]) -> None:
        """Renew it once; a full or dead filesystem costs the renewal, never the run."""
        around = self._around
        term = Term(
            generation=generation,
            renewed_at=self._clock(),
            batch_host=around.here,
            slurmd_address=address,
            voters=len(set(held) - {around.here}),
            job_id=around.raw_job_id,
            restarts=around.restarts,
        )
        self._writer.do(lambda: self._write(term))

    async def keep(self, *, generation: int, address: str, held: Callable[[], Collection[NodeName]]) -> None:
        """Renew it for ever."""
        while not self.lost_to:
            self.renew(generation=generation, address=address, held=held())
            await asyncio.sleep(RENEW_S)

    def _write(self, term: Term) -> None:
        """In the writer's thread."""
        self.lost_to = self.lost_to or others_claim(self._folder, self._around, outlived=self.outlived)
        if not self.lost_to:
            replace_file(self._folder / FILE, encode(term))
            self.written_at = self._clock()


def others_claim(folder: Path, around: Surroundings, *, outlived: Term | None = None) -> str:
    """Who goes on with the run instead of this start of this job, in words; empty: nobody, as far as can be read."""
    with suppress(OSError):
        found = read_takeover(folder, around.raw_job_id, around.restarts)
        if found is not None and not found.refused:
            return f"the agent on {found.node} has taken over"
    later = later_term(folder, around)
    if later is not None and later != outlived:
        return f"job {later.job_id} on {later.batch_host} goes on with this run"
    return ""


def later_term(folder: Path, around: Surroundings) -> Term | None:
    """The term, where a later start than ours has written it; None: none has, as far as can be read."""
    with suppress(OSError, msgspec.MsgspecError):
        term = msgspec.json.decode((folder / FILE).read_bytes(), type=Term)
        if is_newer((term.job_id, term.restarts), (around.raw_job_id, around.restarts)):
            return term
    return None


async def tell_keeper(keeper: KeeperLink) -> None:
    """Tell the keeper for ever that the loop of this process turns: it kills a supervisor that is stuck."""
    while True:
        keeper.alive()
        await asyncio.sleep(_ALIVE_S)
